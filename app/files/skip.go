package files

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

// SkipError says why a piece of a file is no article: a line, an element of a list, a row, a record of a web
// archive. Reader.Articles goes on behind the piece.
type SkipError struct {
	Cause  string // the same words for every piece with the same fault: pieces are counted by it
	Detail string // about this piece; it may quote the file. Empty: the cause says all
	Value  []byte // of a damaged piece, or its beginning
	NoPage bool   // a record of a web archive that holds no page, such as an image or a redirect: nothing is lost
}

func (e *SkipError) Error() string { return cmp.Or(e.Detail, e.Cause) }

// Line returns the piece as it is written; nil if it is too long to be kept.
func (e *SkipError) Line() []byte {
	if e.TooLong() {
		return nil
	}
	return e.Value
}

// TooLong says whether the piece is one of TooLong.
func (e *SkipError) TooLong() bool { return e.Cause == causeTooLong }

// causeTooLong is the cause of TooLong.
const causeTooLong = "too long"

// TooLong returns the fault of a piece of more bytes than a record may have. what names the piece, and value is its
// beginning.
func TooLong(what string, value []byte, bytes, limit int) *SkipError {
	return &SkipError{Cause: causeTooLong, Value: value, Detail: fmt.Sprintf("%s of %d bytes, at most %d can be published",
		what, bytes, limit)}
}

// NoObject returns the fault of a value that was rejected because it is no JSON object; nil if it is one.
func NoObject(value []byte, reject *record.RejectError) error {
	if reject == nil || reject.Reason != record.NotJSON && reject.Reason != record.NotUTF8 || decode.IsObject(value) {
		return nil
	}
	return &SkipError{Cause: "no JSON object", Detail: reject.Detail, Value: value}
}

// mostCauses bounds the causes that a Tally tells apart, because some hold words of the file.
const mostCauses = 20

// Tally counts pieces by cause. The zero value is empty. Not for concurrent use.
type Tally struct {
	counts map[string]int64
	first  map[string]string
	total  int64
}

// Add counts one piece. place is where it stands; of each cause the first place is kept.
func (t *Tally) Add(cause, place string) {
	if t.counts == nil {
		t.counts, t.first = map[string]int64{}, map[string]string{}
	}
	if _, known := t.counts[cause]; !known {
		if len(t.counts) >= mostCauses {
			cause = "other causes"
		}
		t.first[cause] = place
	}
	t.counts[cause]++
	t.total++
}

// Total is the number of all pieces.
func (t *Tally) Total() int64 { return t.total }

// String lists the five most frequent causes with their numbers and first places: "7 status 404 (first a.warc:3), 2 too
// long (first a.warc:9)".
func (t *Tally) String() string {
	causes := slices.SortedFunc(maps.Keys(t.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(a, b))
	})
	var said []string
	rest := t.total
	for _, cause := range causes[:min(len(causes), 5)] {
		said = append(said, fmt.Sprintf("%d %s (first %s)", t.counts[cause], cause, t.first[cause]))
		rest -= t.counts[cause]
	}
	if rest > 0 {
		said = append(said, fmt.Sprintf("%d others", rest))
	}
	return strings.Join(said, ", ")
}
