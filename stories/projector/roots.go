package projector

import (
	"strings"
	"sync"

	"echosieve/pipeline/article"
	"echosieve/stories"
)

const (
	// maxRoots is the number of articles that Roots keeps, and maxRootBytes the longest texts of one: together they take
	// some 10 MB, at most 40 MB.
	maxRoots     = 20_000
	maxRootBytes = 2048
)

// Roots keeps the facts of the latest articles that were read as unique: most copies follow their root soon. The root of
// another new story is read from Kafka, which costs as much as a hundred copies. The zero value is empty. Safe for
// concurrent use.
type Roots struct {
	mu    sync.Mutex
	facts map[article.Coordinates]stories.Article
	order []article.Coordinates // the oldest at next, once there are maxRoots
	next  int
}

func (r *Roots) add(a stories.Article) {
	if len(a.Publisher)+len(a.Title)+len(a.URL) > maxRootBytes {
		return
	}
	// The texts are parts of the record's value.
	a.ID, a.Publisher = "", strings.Clone(a.Publisher)
	a.Title, a.URL = strings.Clone(a.Title), strings.Clone(a.URL)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.facts == nil {
		r.facts = map[article.Coordinates]stories.Article{}
	}
	if _, known := r.facts[a.Coordinates]; known {
		return
	}
	r.facts[a.Coordinates] = a
	if len(r.order) < maxRoots {
		r.order = append(r.order, a.Coordinates)
		return
	}
	delete(r.facts, r.order[r.next])
	r.order[r.next], r.next = a.Coordinates, (r.next+1)%maxRoots
}

func (r *Roots) find(root article.Ref) (stories.Article, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, found := r.facts[root.Coordinates]
	a.Ref = root
	return a, found
}
