package stories

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Rules are the settings of a projector. Stories that were folded by other rules must be folded anew.
type Rules struct {
	// Window is that of the index: a story without a copy for so long has ended.
	Window time.Duration
	// Owners holds the owner of each publisher that does not own itself. The owner stands in its place.
	Owners map[string]string
	// Trusted are publishers whose copies are the best ones to show, the best first.
	Trusted []string
}

// candidate is the best of some articles. why is the place in criteria of the last one that was needed to tell it from
// another article.
type candidate struct {
	Article
	root bool
	why  uint8
}

// criteria are the reasons for which an article is the best: that of one alone, then those that tell it from others,
// in the order in which they count. The last one tells any two articles apart.
var criteria = []string{"earliest", "trusted", "longest", "earliest"}

// better returns the better of two candidates. The result for several does not depend on their order, because the
// criteria are a total order and the reason is the deepest one that any comparison with the best needed.
func (r *Rules) better(a, b candidate) candidate {
	if a.Coordinates == b.Coordinates || a.Topic == "" {
		return b
	}
	order := []int{
		cmp.Compare(r.rank(a.Publisher), r.rank(b.Publisher)),
		cmp.Compare(b.Length, a.Length),
		cmp.Or(a.Time.Compare(b.Time), compareRoots(a.root, b.root), compareCoordinates(a.Coordinates, b.Coordinates)),
	}
	why := slices.IndexFunc(order, func(c int) bool { return c != 0 })
	if order[why] > 0 {
		a = b
	}
	a.why = max(a.why, uint8(why)+1)
	return a
}

// rank is the place of a publisher among those trusted.
func (r *Rules) rank(publisher string) int {
	if i := slices.Index(r.Trusted, publisher); i >= 0 {
		return i
	}
	return len(r.Trusted)
}

// Owners reads a file with the owners of publishers: a line each, the publisher, a tab or an equals sign, and its
// owner. Empty lines and lines that begin with # count for nothing. Without a name of a file there are none.
func Owners(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	owners, number := map[string]string{}, 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.IndexAny(line, "\t=")
		if at <= 0 || at == len(line)-1 {
			return nil, fmt.Errorf("%s:%d is not a publisher, a tab or =, and its owner", file, number)
		}
		owners[strings.TrimSpace(line[:at])] = strings.TrimSpace(line[at+1:])
	}
	return owners, nil
}
