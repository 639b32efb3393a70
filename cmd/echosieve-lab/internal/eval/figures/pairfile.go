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
	Partial      = -1 // partly the same, or debatable: it counts in the table of its kind only
	HardNegative = 0  // a look-alike that is no copy
	Copy         = 1
	// Version is another version of the original, which should be published: it may be recognised as a copy if the
	// policy sends it to another topic than that of duplicates. It counts in the table of its kind only.
	Version = 2
)

// versionLabel is Version in a file.
const versionLabel = "version"

// Pair is two articles with their label.
type Pair struct {
	A, B     string // article ids
	Label    int
	Kind     string   // how the copy was edited, or what makes the look-alike similar
	Families []string // pairs with a family in common tend to be right or wrong together; may be empty
	// ArticleA and ArticleB are the articles as JSON, if the file of pairs has them; otherwise empty.
	ArticleA, ArticleB string
}

// FamilyColumns are the columns of a pairs file, and the fields of an article, that name families. The first
// one that is present and not empty counts.
var FamilyColumns = []string{"base", "cluster"}

// PairParser reads the lines of a pairs file in order. With Labelled false, two columns are enough.
type PairParser struct {
	Labelled bool
	families []int // places of FamilyColumns in the header
	articles []int // places of ArticleColumns in the header; -1: missing
}

// ArticleColumns are the columns of a pairs file that hold the articles, as a page of dropped articles saves them.
var ArticleColumns = []string{"article_a", "article_b"}

// Parse reads a line "id_a id_b label kind", separated by tabs. For the header line, which begins with id_a,
// header is true; it says which further columns name families. Other columns are ignored.
func (r *PairParser) Parse(line string) (p Pair, header bool, err error) {
	fields := strings.Split(line, "\t")
	if fields[0] == "id_a" {
		r.families, r.articles = nil, nil
		for _, name := range ArticleColumns {
			r.articles = append(r.articles, slices.Index(fields, name))
		}
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
	if fields[2] == versionLabel {
		p.Label = Version
	} else if p.Label, err = strconv.Atoi(fields[2]); err != nil || p.Label < Partial || p.Label > Copy {
		return Pair{}, false, fmt.Errorf("label %q is not -1, 0, 1 or %s", fields[2], versionLabel)
	}
	for i, to := range []*string{&p.ArticleA, &p.ArticleB} {
		if r.articles != nil && r.articles[i] >= 0 && r.articles[i] < len(fields) {
			*to = fields[r.articles[i]]
		}
	}
	for _, i := range r.families {
		if i < len(fields) && len(p.Families) == 0 {
			p.Families = SplitFamilies(fields[i])
		}
	}
	return p, false, nil
}

// SplitFamilies returns the names of families in a text; commas separate them.
func SplitFamilies(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
