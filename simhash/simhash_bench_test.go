package simhash

import (
	"math/rand/v2"
	"testing"
)

// 300 features are those of a news article of about 2.7 KB.
func BenchmarkSum(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	features := make([]Feature, 300)
	for i := range features {
		features[i] = Feature{r.Uint64(), 5 + 20*r.Float64()}
	}
	b.ReportAllocs()
	var fp Fingerprint
	for b.Loop() {
		fp ^= Sum(features)
	}
	sinkInt = Distance(fp, 0)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/feature")
}

func BenchmarkHash(b *testing.B) {
	const word = "新华社记者"
	b.SetBytes(int64(len(word)))
	var h uint64
	for b.Loop() {
		h ^= Hash(word)
	}
	sinkInt = int(h)
}

func BenchmarkAppendBlocks(b *testing.B) {
	blocks := make([]Block, 0, 4)
	for b.Loop() {
		blocks = Layout{Count: 4}.AppendBlocks(blocks[:0], 0x0123456789abcdef)
	}
	sinkInt = len(blocks)
}
