package main

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
)

// census counts what a promise needs to be tested at all, by what it is. A run in which one of them stays zero has failed: it has shown
// nothing about that promise.
type census map[string]int

const (
	copiesOfCopies   = "copies of copies"
	nullValues       = "null values"
	committedRecords = "records of committed transactions"
	abortedRecords   = "records of aborted transactions"
	compressed       = "records with compression "
	deadLetters      = "dead letters: "
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// count notes what the input topic holds and what was found in the outputs.
func (c census) count(inputs map[string]*kgo.Record, found findings) {
	c[copiesOfCopies] = found.links
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
	for _, reason := range append(slices.Clone(breakable), pipeline.TooLarge) {
		c[deadLetters+string(reason)] = found.dead[reason]
	}
}
