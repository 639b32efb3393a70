package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
)

// breakable are the defects that a small value can have.
var breakable = []pipeline.RejectReason{pipeline.NotJSON, pipeline.NoText, pipeline.WrongType, pipeline.EmptyText}

// maxMessageBytes is what the service and the broker allow by default.
const maxMessageBytes = 1 << 20

// broken returns a record that must become a dead letter for the reason.
func (d *desk) broken(id string, reason pipeline.RejectReason) *kgo.Record {
	key := fmt.Sprintf("%s-%s", reason, id)
	d.reasons[key] = reason
	value := map[pipeline.RejectReason]string{
		pipeline.NotJSON:   `{"id":"cut off","text":"The first words and`,
		pipeline.NoText:    `{"id":"no-text","title":"A picture"}`,
		pipeline.WrongType: `{"id":"list","text":["one","two"]}`,
		pipeline.EmptyText: `{"id":"empty","text":"<p> - </p>"}`,
	}[reason]
	if reason == pipeline.TooLarge {
		// The topics hold it, but not with the headers of a verdict.
		value = `{"id":"large","text":"` + strings.Repeat("large ", (maxMessageBytes-2048)/6) + `"}`
	}
	return d.record(key, []byte(value))
}
