package recipe

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// LoadBareCut loads gojieba and returns a function that runs its Cut alone over texts as they stand, on all cores as
// Prepare does: the yardstick of benchmarks. The function returns the number of words. In a program without cgo the
// error is cppjieba.ErrMissing.
func LoadBareCut() (func(texts []string) int, error) {
	s, err := loadSegmenter(SegmenterGojieba, nil)
	if err != nil {
		return nil, err
	}
	return func(texts []string) int {
		var next, words atomic.Int64
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
					words.Add(int64(len(s.Cut(nil, texts[i]))))
				}
			})
		}
		workers.Wait()
		return int(words.Load())
	}, nil
}
