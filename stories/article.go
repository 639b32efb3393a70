package stories

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
)

// Article is all that a story keeps of an article.
type Article struct {
	article.Ref
	Publisher, Title, URL string
	Time                  time.Time // in UTC and milliseconds; see Rules.Describe
	Length                int       // of the text, in characters; see Rules.Describe
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
	return Article{
		Ref: ref, Publisher: cmp.Or(r.Owners[name], name), Title: c.Title, URL: c.URL,
		Time:   inYears(at.UTC().Truncate(time.Millisecond)),
		Length: characters(c.Text),
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
	next := 0                                // after the last element
	last := strings.LastIndexByte(text, '>') // without it each < would be followed to the end
	for i, c := range text {
		if c == '<' && i >= next && i < last {
			next = i + elementEnd(text[i:])
		}
		if i >= next && (c > ' ' && c < utf8.RuneSelf || !unicode.IsSpace(c)) {
			n++
		}
	}
	return n
}

// elementEnd returns the length of the tag or comment at the beginning of a text that holds a >; 0 if there is none.
func elementEnd(text string) int {
	if len(text) < 3 || text[0] != '<' {
		return 0
	}
	if c := text[1]; c == '/' || c == '!' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return 1 + strings.IndexByte(text, '>')
	}
	return 0
}

// byTime orders articles by their time.
func byTime(a, b Article) int {
	return cmp.Or(a.Time.Compare(b.Time), compareCoordinates(a.Coordinates, b.Coordinates))
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

func compareCoordinates(a, b article.Coordinates) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition),
		cmp.Compare(a.Offset, b.Offset))
}

func comparePartitions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
