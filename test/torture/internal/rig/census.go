package rig

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/test/articles"
)

// Census counts the records without which a promise is not tested at all, by a name for the summary. A run in
// which a count stays zero has failed, because it has shown nothing about that promise.
type Census map[string]int

// Counts that the runner itself knows.
const (
	Skipped          = "records that an earlier owner had published"
	CommittedRecords = "records of committed transactions"
	AbortedRecords   = "records of aborted transactions"
)

// Counts that Count makes. The last two are prefixes.
const (
	copiesOfCopies = "copies of copies"
	nullValues     = "null values"
	compressed     = "records with compression "
	deadLetters    = "dead letters: "
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Count counts the records of the input topic, and the findings about the outputs.
func (c Census) Count(inputs map[string]*kgo.Record, found articles.Findings) {
	c[copiesOfCopies] = found.Links
	c[nullValues] = 0
	for _, name := range codecNames {
		c[compressed+name] = 0
	}
	for _, in := range inputs {
		c[compressed+codecNames[in.Attrs.CompressionType()]]++
		if in.Value == nil {
			c[nullValues]++
		}
	}
	for _, reason := range append(slices.Clone(articles.Breakable), record.TooLarge) {
		c[deadLetters+string(reason)] = found.Dead[reason]
	}
}
