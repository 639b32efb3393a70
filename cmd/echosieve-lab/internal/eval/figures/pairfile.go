package figures

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Labels of a pair.
const (
	Partial      = -1 // partly the same or debatable: counts in nothing but its own kind
	HardNegative = 0  // looks alike but is no copy
	Copy         = 1
)

// Pair is two articles and what they are to each other.
type Pair struct {
	A, B     string // article ids
	Label    int
	Kind     string   // how the copy was edited, or in what the look-alike looks alike
	Families []string // what it was made from: pairs with one in common are right or wrong together; may be empty
}

// FamilyColumns are the columns of a pairs file, and the fields of an article, that name what a pair was made from. The
// first one that is there and not empty counts.
var FamilyColumns = []string{"base", "cluster"}

// PairParser reads the lines of a pairs file in order. With Labelled false, two columns are enough.
type PairParser struct {
	Labelled bool
	families []int // places of FamilyColumns in the header
}

// Parse reads a line "id_a id_b label kind", separated by tabs. The header line that begins with id_a is told; it says
// which further columns name families, the others are ignored.
func (r *PairParser) Parse(line string) (p Pair, header bool, err error) {
	fields := strings.Split(line, "\t")
	if fields[0] == "id_a" {
		r.families = nil
		for _, name := range FamilyColumns {
			if i := slices.Index(fields, name); i >= 0 {
				r.families = append(r.families, i)
			}
		}
		return Pair{}, true, nil
	}
	if len(fields) < 2 || r.Labelled && len(fields) < 4 {
		return Pair{}, false, errors.New("want id_a, id_b, label and kind, separated by tabs")
	}
	p = Pair{A: fields[0], B: fields[1]}
	if !r.Labelled {
		return p, false, nil
	}
	p.Kind = fields[3]
	if p.Label, err = strconv.Atoi(fields[2]); err != nil || p.Label < Partial || p.Label > Copy {
		return Pair{}, false, fmt.Errorf("label %q is not -1, 0 or 1", fields[2])
	}
	for _, i := range r.families {
		if i < len(fields) && len(p.Families) == 0 {
			p.Families = SplitFamilies(fields[i])
		}
	}
	return p, false, nil
}

// SplitFamilies reads the names of families, separated by commas.
func SplitFamilies(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
