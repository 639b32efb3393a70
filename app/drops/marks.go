// Package drops shows dropped articles beside their originals as a page on which people mark each drop as right or
// wrong, and reads the marks that the page saves.
package drops

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The labels of a mark, as eval pairs has them.
const (
	LabelRight   = "1"       // a copy: rightly dropped
	LabelWrong   = "0"       // another article
	LabelVersion = "version" // another version of the original, which should be published
)

// Mark is what somebody says of a drop.
type Mark struct {
	ID     string // of the dropped article
	Record string // coordinates of its input record; of a file FILE/RUN/NUMBER
	Label  string
}

// Wrong says whether the article should be published.
func (m Mark) Wrong() bool { return m.Label == LabelWrong || m.Label == LabelVersion }

// markColumns are the columns of a file of marks. The first four are those of eval pairs --pairs. The
// last two are the articles as JSON, empty if a text is not known.
var markColumns = []string{"id_a", "id_b", "label", "kind", "record_a", "record_b", "article_a",
	"article_b"}

// ReadMarks reads a file that the page has saved: a line for each mark, separated by tabs, below a line with the names
// of the columns.
func ReadMarks(name string) (marks []Mark, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var places []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		fields := strings.Split(strings.TrimRight(string(line), "\r\n"), "\t")
		if places == nil {
			for _, column := range []string{"id_b", "record_b", "label"} {
				places = append(places, slices.Index(fields, column))
			}
			if slices.Min(places) < 0 {
				return nil, fmt.Errorf("%s: its first line must name the columns %s, as the page of dropped articles "+
					"saves them", name, strings.Join(markColumns, ", "))
			}
			continue
		}
		if len(fields) <= slices.Max(places) {
			return nil, fmt.Errorf("%s: line %d has %d columns: save the marks again", name, number, len(fields))
		}
		m := Mark{fields[places[0]], fields[places[1]], fields[places[2]]}
		if !m.Wrong() && m.Label != LabelRight {
			return nil, fmt.Errorf("%s: line %d has the label %q, which is none of %s, %s, %s", name, number, m.Label,
				LabelRight, LabelWrong, LabelVersion)
		}
		marks = append(marks, m)
	}
	return marks, nil
}
