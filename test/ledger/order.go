package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
)

// lane is one input partition's part of one output partition.
type lane struct {
	topic     string
	partition int32
	source    string
}

// InOrder checks that each input partition's records lie in one partition of each output topic, in their order.
// Redelivered records do not count.
func InOrder(outputs []*kgo.Record) []Violation {
	var bad []Violation
	newest := map[lane]int64{}
	home := map[lane]int32{}
	seen := make(map[string]bool, len(outputs))
	for _, out := range outputs {
		source := Headers(out)[pipeline.HeaderSource]
		cut := strings.LastIndexByte(source, '/')
		offset, err := strconv.ParseInt(source[cut+1:], 10, 64)
		if cut < 0 || err != nil {
			bad = append(bad, Violation{Stray, fmt.Sprintf("%s names the source %q", Coordinates(out), source)})
			continue
		}
		l := lane{out.Topic, out.Partition, source[:cut]}
		where := lane{topic: out.Topic, source: source[:cut]}
		if p, known := home[where]; known && p != out.Partition {
			bad = append(bad, Violation{Order, fmt.Sprintf("%s is spread over partitions of %s", where.source, out.Topic)})
		}
		home[where] = out.Partition
		if !seen[source] {
			if last, known := newest[l]; known && offset <= last {
				bad = append(bad, Violation{Order, fmt.Sprintf("%s came after offset %d in %s/%d", source, last, out.Topic, out.Partition)})
			}
			newest[l] = max(newest[l], offset)
		}
		seen[source] = true
	}
	return bad
}
