package projector

import (
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"echosieve/pipeline/article"
	"echosieve/stories"
)

const (
	// maxRoots is the number of articles that Roots keeps, and maxRootBytes the longest texts of one: together they take
	// some 10 MB, at most 40 MB.
	maxRoots     = 20_000
	maxRootBytes = 2048
)

// Roots keeps the facts of articles that were read as unique: most copies follow their root soon. The root of another
// new story is read from Kafka, which costs as much as a hundred copies.
type Roots = lru.Cache[article.Coordinates, stories.Article]

// NewRoots returns a cache without roots.
func NewRoots() *Roots {
	r, _ := lru.New[article.Coordinates, stories.Article](maxRoots) // fails for sizes below one
	return r
}

func keepRoot(r *Roots, a stories.Article) {
	if len(a.Publisher)+len(a.Title)+len(a.URL) > maxRootBytes {
		return
	}
	// The texts are parts of the record's value.
	a.ID, a.Publisher = "", strings.Clone(a.Publisher)
	a.Title, a.URL = strings.Clone(a.Title), strings.Clone(a.URL)
	r.Add(a.Coordinates, a)
}
