package redisindex

import "sync"

// knownSlices remembers which slices existed when Redis was last asked, so that look-ups need no round trip
// before them that asks. A slice that has expired meanwhile is looked up in vain once. The zero value is
// ready. Safe for concurrent use.
type knownSlices struct {
	mu    sync.Mutex
	exist map[int64]bool
}

// maxKnownSlices bounds the memory. A window has few slices; records with senseless timestamps may name many.
const maxKnownSlices = 1024

func (k *knownSlices) known(slice int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.exist[slice]
}

func (k *knownSlices) set(slice int64, exists bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !exists {
		delete(k.exist, slice)
		return
	}
	if k.exist == nil || len(k.exist) >= maxKnownSlices {
		k.exist = map[int64]bool{}
	}
	k.exist[slice] = true
}
