// Package figures measures how well copies are told from look-alikes: on labelled pairs of articles (Pairs),
// on a stream with labelled copies (Stream), and, without labels, by what another recipe would drop (Versus). It
// only counts. Its callers read files and run the pipeline; package report draws charts. Random samples and
// resamples follow from a seed, so that the same input gives the same output.
package figures

import (
	"cmp"
	"fmt"
	"slices"

	"echosieve/pipeline/article"
)

// KindResult counts the pairs of one kind.
type KindResult struct {
	Label    int       `json:"label"`
	N        int       `json:"n"`
	Flagged  int       `json:"flagged"`  // judged to be copies
	Possible int       `json:"possible"` // look alike, but not enough; 0 for recipes where distance alone decides
	Interval *Interval `json:"interval"` // of the share flagged
	// Published counts the flagged pairs whose later article the policy sends to another topic than that of duplicates.
	Published int `json:"published"`
	// Relations counts the flagged pairs by the relation of the later article, B, to the earlier one.
	Relations map[string]int `json:"relations"`
}

// Share is the share of the kind's pairs that are flagged.
func (k KindResult) Share() float64 { return ratio(k.Flagged, k.N) }

// WrongPair is a copy that is not flagged, a hard negative that is, or a version that is dropped.
type WrongPair struct {
	A         string     `json:"id_a"`
	B         string     `json:"id_b"`
	Label     int        `json:"label"`
	Kind      string     `json:"kind"`
	Possible  bool       `json:"possible"`
	Candidate bool       `json:"candidate"` // a look-up finds one from the other
	Distance  int        `json:"distance"`  // bits
	Reason    string     `json:"reason"`    // the test that decided, or why none did
	Beside    `json:"-"` // left to the caller
}

// Verdict names the mistake of the service.
func (p *WrongPair) Verdict() string {
	switch {
	case p.Label == HardNegative:
		return "false alarm"
	case p.Label == Version:
		return "version dropped"
	case p.Possible:
		return "missed, possible"
	default:
		return "missed"
	}
}

// PairsResult is the result of Pairs.
type PairsResult struct {
	Docs       int `json:"docs"`
	Pairs      int `json:"pairs"` // without ignored pairs
	Copies     int `json:"copies"`
	LookAlikes int `json:"look_alikes"`
	Versions   int `json:"versions"`  // labelled version: they count in the table of their kind only
	Debatable  int `json:"debatable"` // labelled -1: as versions
	Rates
	F1              float64   `json:"f1"`
	CandidateRecall float64   `json:"candidate_recall"` // share of the copies that a look-up finds
	Intervals       Intervals `json:"intervals"`
	// pairs that name no family: each is a family by itself
	WithoutFamily int                   `json:"without_family"`
	Warnings      []string              `json:"warnings"` // rates that may be chance
	Kinds         map[string]KindResult `json:"kinds"`
	Curves        []Curve               `json:"curves"`      // left to the caller
	Wrong         []WrongPair           `json:"wrong_pairs"` // false alarms first, then by kind
}

// IgnoredKind is the kind of the pairs in the ignore list. It has the label of partial copies.
const IgnoredKind = "ignored"

// judged is a pair with its verdict.
type judged struct {
	Pair
	Judgement
}

// Pairs judges each pair. Pairs in ignore, in either order of their articles, count only in the kind
// IgnoredKind, and not at all if an article is unknown. A labelled pair with an unknown article is an error.
// If pairs of one kind have different labels, the kind of the label that comes later is named "kind (label)".
func Pairs(articles map[string]article.Article, pairs, ignore []Pair, judge Judge) (PairsResult, error) {
	r := PairsResult{Docs: len(articles), Kinds: map[string]KindResult{}}
	list, ignored, err := judgeAll(articles, pairs, ignore, judge)
	if err != nil {
		return PairsResult{}, err
	}
	kinds := byKind{}
	for _, p := range ignored {
		p.Label, p.Kind = Partial, IgnoredKind
		kinds.add(p)
	}
	for _, p := range list {
		kinds.add(p)
	}
	r.count(list)
	for name, members := range kinds {
		r.Kinds[name] = kindResult(members)
	}
	r.rate(list)
	r.Warnings = r.warnings()
	return r, nil
}

// judgeAll judges the pairs, and those of ignore, of which each counts once, in whatever order its articles are. Pairs
// with an unknown article are left out; err names the first one that is not in ignore.
func judgeAll(articles map[string]article.Article, pairs, ignore []Pair, judge Judge) (list, ignored []judged,
	err error) {
	done := map[[2]string]bool{}
	for i, p := range slices.Concat(ignore, pairs) {
		a, knownA := articles[p.A]
		b, knownB := articles[p.B]
		known, isIgnored := knownA && knownB, i < len(ignore)
		switch {
		case done[[2]string{p.A, p.B}]:
		case known && isIgnored:
			ignored = append(ignored, judged{p, judge(b, a)})
		case known:
			list = append(list, judged{p, judge(b, a)})
		case !isIgnored && err == nil:
			err = fmt.Errorf("pair %s, %s: no such article", p.A, p.B)
		}
		if isIgnored {
			done[[2]string{p.A, p.B}], done[[2]string{p.B, p.A}] = true, true
		}
	}
	return list, ignored, err
}

// byKind returns the pairs of each kind and label.
type byKind map[string][]judged

func (k byKind) add(p judged) {
	name := p.Kind
	if members := k[name]; len(members) > 0 && members[0].Label != p.Label {
		name = fmt.Sprintf("%s (%d)", p.Kind, p.Label)
	}
	k[name] = append(k[name], p)
}

func kindResult(members []judged) KindResult {
	k := KindResult{Label: members[0].Label, N: len(members), Relations: map[string]int{}}
	terms := make([]term, len(members))
	for i, p := range members {
		terms[i] = p.term(p.Flagged)
		k.Flagged += terms[i].part
		if p.Possible {
			k.Possible++
		}
		if p.Published {
			k.Published++
		}
		if p.Flagged {
			k.Relations[p.Relation]++
		}
	}
	k.Interval = interval(terms)
	return k
}

// count fills in the numbers of pairs and lists the wrong ones.
func (r *PairsResult) count(list []judged) {
	r.Pairs = len(list)
	r.Wrong = []WrongPair{}
	for _, p := range list {
		switch p.Label {
		case Copy:
			r.Copies++
		case HardNegative:
			r.LookAlikes++
		case Version:
			r.Versions++
		default:
			r.Debatable++
		}
		if len(p.Families) == 0 {
			r.WithoutFamily++
		}
		if p.Label == Copy && !p.Flagged || p.Label == HardNegative && p.Flagged ||
			p.Label == Version && p.Flagged && !p.Published {
			r.Wrong = append(r.Wrong, WrongPair{
				A: p.A, B: p.B, Label: p.Label, Kind: p.Kind,
				Possible: p.Possible, Candidate: p.Candidate, Distance: p.Distance, Reason: p.Reason,
			})
		}
	}
	slices.SortStableFunc(r.Wrong, func(a, b WrongPair) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Kind, b.Kind))
	})
}

// term returns the pair as a term of a rate.
func (p *judged) term(counts bool) term {
	t := term{families: p.Families, whole: 1}
	if counts {
		t.part = 1
	}
	return t
}
