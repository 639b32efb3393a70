package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// Labels are the values of Label.Label.
var Labels = []string{"retracted", "false", "corrected", "embargoed"}

const (
	// MaxLabels is the number of labels that a story keeps: the earliest ones.
	MaxLabels = 16
	// maxLabelText is the length of the longest text of a label, in bytes. A longer one is cut.
	maxLabelText = 512
)

// Label is a warning about a story.
type Label struct {
	Label string    `json:"label"` // one of Labels
	Text  string    `json:"text,omitempty"`
	Time  time.Time `json:"time"` // when it was given
}

// Labelled is a record of the topic of labels. Its JSON names never change.
type Labelled struct {
	Root string `json:"root"` // coordinates of the root of the story
	Label
}

// ParseLabel reads a record of the topic of labels. Without a time the timestamp of the record counts.
func ParseLabel(r *record.Record) (root article.Coordinates, l Label, err error) {
	var of Labelled
	if err = json.Unmarshal(r.Value, &of); err != nil {
		return root, l, fmt.Errorf("is no label: %w", err)
	}
	if root, err = article.ParseCoordinates(of.Root); err != nil {
		return root, l, fmt.Errorf("root: %w", err)
	}
	if !slices.Contains(Labels, of.Label.Label) {
		return root, l, fmt.Errorf("label: %q is not one of %s", of.Label.Label, strings.Join(Labels, ", "))
	}
	l = of.Label
	if l.Time.IsZero() {
		l.Time = r.Time
	}
	l.Text, l.Time = article.Cut(l.Text, maxLabelText), inYears(l.Time.UTC().Truncate(time.Millisecond))
	return root, l, nil
}

// Label adds a label, unless the story has passed its position.
func (s *Story) Label(at Position, l Label) {
	if !s.pass(at) {
		return
	}
	if i, found := slices.BinarySearchFunc(s.labels, l, compareLabels); !found {
		s.labels = slices.Insert(s.labels, i, l)
		s.labels = s.labels[:min(len(s.labels), MaxLabels)]
	}
}

func compareLabels(a, b Label) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Text, b.Text))
}
