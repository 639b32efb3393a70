package pipeline

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BareCut runs jieba's Cut alone over texts as they stand, on all cores as Prepare does: the yardstick of
// benchmarks. It returns the number of words.
func (r *Recipe) BareCut(texts []string) int {
	var next, words atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				words.Add(int64(len(r.segmenter.jieba.Cut(texts[i], true))))
			}
		})
	}
	workers.Wait()
	return int(words.Load())
}
