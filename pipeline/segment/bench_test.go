//go:build cgo

package segment_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/internal/newstext"
)

// BenchmarkCut compares the CPU time of both segmenters on 2,000 articles of each corpus, in blocks that alternate.
// of-gojieba is the share of the native one in the time of gojieba.
func BenchmarkCut(b *testing.B) {
	s := plainPair(b)
	for file, texts := range newstext.Corpora(b, 2000) {
		b.Run(file, func(b *testing.B) {
			var native, jieba time.Duration
			words := []string{}
			runes := 0
			for b.Loop() {
				for block := texts; len(block) > 0; {
					n := min(len(block), 100)
					start := cpuTime(b)
					for _, text := range block[:n] {
						words = s.native.Cut(words[:0], text.Text)
					}
					middle := cpuTime(b)
					for _, text := range block[:n] {
						s.jieba.Cut(nil, text.Text)
						runes += len([]rune(text.Text))
					}
					native, jieba = native+middle-start, jieba+cpuTime(b)-middle
					block = block[n:]
				}
			}
			b.ReportMetric(float64(native.Nanoseconds())/float64(runes), "ns/character")
			b.ReportMetric(native.Seconds()/jieba.Seconds(), "of-gojieba")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
