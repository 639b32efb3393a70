package stories

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"echosieve/pipeline/article"
	"echosieve/stories/credit"
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
		cmp.Or(a.Time.Compare(b.Time), compareRoots(a.root, b.root), a.Compare(b.Coordinates)),
	}
	why := slices.IndexFunc(order, func(c int) bool { return c != 0 })
	if order[why] > 0 {
		a = b
	}
	a.why = max(a.why, uint8(why)+1)
	return a
}

// rank is the place of a publisher among those trusted.
func (r *Rules) rank(name string) int {
	if i := slices.Index(r.Trusted, name); i >= 0 {
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
	owners, n := map[string]string{}, 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.IndexAny(line, "\t=")
		if at <= 0 || at == len(line)-1 {
			return nil, fmt.Errorf("%s:%d is not a publisher, a tab or =, and its owner", file, n)
		}
		owners[strings.TrimSpace(line[:at])] = strings.TrimSpace(line[at+1:])
	}
	return owners, nil
}

// Article is all that a story keeps of an article.
type Article struct {
	article.Ref
	Publisher, Title, URL string
	Time                  time.Time // in UTC and milliseconds; see Rules.Describe
	Length                int       // of the text, in characters; see Rules.Describe
	Credit, CreditBy      string    // whom it names as its origin, and where; see credit.Find
}

// maxAhead is how long after its record's timestamp an article may have been published: clocks differ.
const maxAhead = time.Hour

// Describe returns an article as stories see it. at is the timestamp of its record.
//
// The time is that of the publication, unless it lies more than a window before the timestamp or more than an hour
// after it: then it is the timestamp. A page that claims next year, or 1970, is not first. The length counts neither
// white space nor tags of HTML.
func (r *Rules) Describe(ref article.Ref, c article.Content, at time.Time) Article {
	if p := c.Published; !p.Before(at.Add(-r.Window)) && !p.After(at.Add(maxAhead)) {
		at = p
	}
	name := article.PublisherOf(c.Publisher, c.URL)
	named, by := credit.Find(c.Credit, c.Text)
	return Article{
		Ref: ref, Publisher: cmp.Or(r.Owners[name], name), Title: c.Title, URL: c.URL,
		Time:   inYears(at.UTC().Truncate(time.Millisecond)),
		Length: characters(c.Text),
		Credit: cmp.Or(r.Owners[named], named), CreditBy: by,
	}
}

// The times that JSON can hold: others become the nearest of them.
var firstTime, lastTime = time.UnixMilli(-62135596800000).UTC(), time.UnixMilli(253402300799999).UTC()

func inYears(t time.Time) time.Time {
	switch {
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return t
}

// characters counts the characters of a text that are neither in tags of HTML nor white space.
func characters(text string) (n int) {
	tag, last := false, strings.LastIndexByte(text, '>') // a < behind the last > begins no tag
	for i, c := range text {
		switch {
		case tag:
			tag = c != '>'
		case c == '<' && i < last && begins(text[i+1]|0x20):
			tag = true
		case !unicode.IsSpace(c):
			n++
		}
	}
	return n
}

// begins says whether a tag or a comment begins with a <, and this lower letter or sign.
func begins(c byte) bool { return c == '/' || c == '!' || c >= 'a' && c <= 'z' }

// byTime orders articles by their time.
func byTime(a, b Article) int {
	return cmp.Or(a.Time.Compare(b.Time), a.Compare(b.Coordinates))
}

// compareRoots puts a root before articles that are none.
func compareRoots(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
