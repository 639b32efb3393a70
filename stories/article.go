package stories

import (
	"cmp"
	"strings"
	"time"
	"unicode"

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
