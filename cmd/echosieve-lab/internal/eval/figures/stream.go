package figures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// StreamArticle is an article of a stream with its label.
type StreamArticle struct {
	ID, Title string
	DupOf     string // id of the earlier article that it repeats; empty for an original
	Language  string
	Publisher string // may be empty
	Kind      string // how the copy was edited; may be empty
	Time      time.Time
}

// StreamVerdict is the verdict on the article at the same place in the stream.
type StreamVerdict struct {
	Dead      bool   // it could not be processed
	Flagged   bool   // it is judged to be a copy
	Published bool   // it is judged to be a copy, but the policy sends it to another topic than that of duplicates
	Possible  bool   // it is judged to be possibly a copy; never with Flagged
	Original  int    // place in the stream of the article that it repeats, if Flagged or Possible
	Root      int    // place of the article at the end of the chain, if Flagged
	Distance  int    // to the original, in bits
	Reason    string // the test that decided
}

// StreamCounts counts the articles of a language, kind or publisher.
type StreamCounts struct {
	Copies int `json:"copies"`
	Caught int `json:"caught"` // copies that are judged to be copies
	// copies and originals that are judged to be copies, but not sent to the topic of duplicates
	Published     int `json:"published"`
	Originals     int `json:"originals"`
	Dropped       int `json:"dropped"`        // originals that are judged to be copies
	WrongOriginal int `json:"wrong_original"` // caught copies whose root belongs to another cluster
	Possible      int `json:"possible"`       // copies and originals that are judged to be possible copies
}

// CaughtShare is the share of copies caught, 1 if there are none.
func (c StreamCounts) CaughtShare() float64 {
	if c.Copies == 0 {
		return 1
	}
	return ratio(c.Caught, c.Copies)
}

func (c StreamCounts) plus(d StreamCounts) StreamCounts {
	return StreamCounts{
		Copies: c.Copies + d.Copies, Caught: c.Caught + d.Caught, Originals: c.Originals + d.Originals,
		Dropped: c.Dropped + d.Dropped, WrongOriginal: c.WrongOriginal + d.WrongOriginal,
		Possible: c.Possible + d.Possible, Published: c.Published + d.Published,
	}
}

// GapCounts counts the copies that came a certain time after the first article of their cluster.
type GapCounts struct {
	From   string `json:"from"` // such as "1h": the row counts times from this one up to From of the next row
	Copies int    `json:"copies"`
	Caught int    `json:"caught"`
}

// Delay is the time from the first article of a cluster to a caught copy, in seconds.
type Delay struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
}

// Repeat is an article with the article that it was judged to repeat, certainly or possibly. If it was judged
// unique, the other article is the first one of its cluster.
type Repeat struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	Language      string `json:"language"`
	Kind          string `json:"kind"`
	OriginalID    string `json:"original_id"`
	OriginalTitle string `json:"original_title"`
	Distance      int    `json:"distance"` // bits; -1 if unknown
	Possible      bool   `json:"possible"` // it was judged to be possibly a copy
	Reason        string `json:"reason"`   // the test that decided; empty if there was none
}

// StreamResult is the result of Stream. The caller sets Skipped and Curves.
type StreamResult struct {
	Articles int `json:"articles"`
	Skipped  int `json:"skipped"` // marked as ambiguous and left out
	Dead     int `json:"dead"`    // could not be processed; they do not count
	// copies without their original in the stream: they count as originals
	OriginalMissing int                     `json:"original_missing"`
	Languages       map[string]StreamCounts `json:"languages"`
	Kinds           map[string]StreamCounts `json:"kinds"`
	Publishers      map[string]StreamCounts `json:"publishers"`
	Joins           []Joins                 `json:"joins"`
	Gaps            []GapCounts             `json:"gaps"`
	Delay           Delay                   `json:"delay_seconds"`
	Dropped         []Repeat                `json:"dropped_originals"`
	Wrong           []Repeat                `json:"wrong_originals"`
	Missed          []Repeat                `json:"missed_copies"`
	Samples         []JoinPair              `json:"samples"` // left to the caller
	Curves          []Curve                 `json:"curves"`  // none without labels
}

// LargestPublishers returns the names of the publishers, the one with most articles first.
func (r *StreamResult) LargestPublishers() []string {
	articles := func(publisher string) int { return r.Publishers[publisher].Copies + r.Publishers[publisher].Originals }
	return slices.SortedFunc(maps.Keys(r.Publishers), func(a, b string) int {
		return cmp.Or(articles(b)-articles(a), cmp.Compare(a, b))
	})
}

// Total adds up all languages.
func (r *StreamResult) Total() StreamCounts {
	var t StreamCounts
	for _, c := range r.Languages {
		t = t.plus(c)
	}
	return t
}

// Tally counts for a curve.
func (r *StreamResult) Tally() *Tally {
	t := r.Total()
	return &Tally{Copies: t.Copies, Missed: t.Copies - t.Caught, Others: t.Originals, Drops: t.Dropped}
}

// Words are what originals of a stream are called, and originals that are judged to be copies. Without any label nobody
// knows which articles are originals.
type Words struct{ Originals, Dropped string }

// Words returns the words for this stream.
func (r *StreamResult) Words() Words {
	if r.Total().Copies == 0 && r.OriginalMissing == 0 {
		return Words{"articles", "flagged"}
	}
	return Words{"originals", "dropped"}
}

// gaps are the lower ends of GapCounts.
var gaps = []struct {
	name string
	from time.Duration
}{{"0", 0}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"1d", 24 * time.Hour}, {"3d", 3 * 24 * time.Hour},
	{"7d", 7 * 24 * time.Hour}}

// Stream compares verdicts with labels. The articles are in the order in which they were judged; verdicts[i]
// is the verdict on articles[i]. An article that is labelled a copy of a later one is an error.
func Stream(articles []StreamArticle, verdicts []StreamVerdict) (StreamResult, error) {
	firsts, missing, err := clusters(articles, verdicts)
	if err != nil {
		return StreamResult{}, err
	}
	r := StreamResult{
		Articles: len(articles), OriginalMissing: missing,
		Languages: map[string]StreamCounts{}, Kinds: map[string]StreamCounts{}, Publishers: map[string]StreamCounts{},
		Joins: joins(articles, verdicts), Gaps: make([]GapCounts, len(gaps)),
		Dropped: []Repeat{}, Wrong: []Repeat{}, Missed: []Repeat{}, Samples: []JoinPair{},
	}
	for i, gap := range gaps {
		r.Gaps[i].From = gap.name
	}
	var delays []float64
	for i := range articles {
		a, v := &articles[i], verdicts[i]
		if v.Dead {
			r.Dead++
			continue
		}
		var one StreamCounts
		first := firsts[i]
		if v.Possible {
			one.Possible = 1
		}
		if v.Published {
			one.Published = 1
		}
		if first == i {
			one.Originals = 1
			if v.Flagged {
				one.Dropped = 1
				r.Dropped = append(r.Dropped, repeat(articles, i, v.Original, v))
			}
		} else {
			one.Copies = 1
			delay := max(0, a.Time.Sub(articles[first].Time))
			gap := r.gap(delay)
			gap.Copies++
			if v.Flagged {
				one.Caught = 1
				gap.Caught++
				delays = append(delays, delay.Seconds())
				if firsts[v.Root] != first {
					one.WrongOriginal = 1
					r.Wrong = append(r.Wrong, repeat(articles, i, v.Root, v))
				}
			} else {
				if !v.Possible {
					v.Original, v.Distance = first, -1
				}
				r.Missed = append(r.Missed, repeat(articles, i, v.Original, v))
			}
		}
		language, kind, publisher := cmp.Or(a.Language, "unknown"), kindOf(a), cmp.Or(a.Publisher, "unknown")
		r.Languages[language] = r.Languages[language].plus(one)
		r.Kinds[kind] = r.Kinds[kind].plus(one)
		r.Publishers[publisher] = r.Publishers[publisher].plus(one)
	}
	slices.Sort(delays)
	r.Delay = Delay{Median: quantile(delays, 0.5), P90: quantile(delays, 0.9)}
	return r, nil
}

// clusters returns for each article the place of the first article of its cluster, which may be the article
// itself. If the original of some copies is not in the stream, or is a dead letter, the first of these copies
// is the first of the cluster; missing counts such articles.
func clusters(articles []StreamArticle, verdicts []StreamVerdict) (firsts []int, missing int, err error) {
	places := make(map[string]int, len(articles))
	for i, a := range articles {
		if _, known := places[a.ID]; !known && !verdicts[i].Dead {
			places[a.ID] = i
		}
	}
	firsts = make([]int, len(articles))
	absent := map[string]int{}
	for i, a := range articles {
		firsts[i] = i
		if a.DupOf == "" || verdicts[i].Dead {
			continue
		}
		if original, known := places[a.DupOf]; known {
			if original >= i {
				return nil, 0, fmt.Errorf("article %s is labelled a copy of %s, which does not come before it", a.ID,
					a.DupOf)
			}
			firsts[i] = firsts[original]
		} else if first, known := absent[a.DupOf]; known {
			firsts[i] = first
		} else {
			absent[a.DupOf] = i
			missing++
		}
	}
	return firsts, missing, nil
}

func kindOf(a *StreamArticle) string {
	if a.DupOf == "" {
		return cmp.Or(a.Kind, "original")
	}
	return cmp.Or(a.Kind, "copy")
}

func repeat(articles []StreamArticle, i, original int, v StreamVerdict) Repeat {
	a, o := &articles[i], &articles[original]
	return Repeat{
		ID: a.ID, Title: a.Title, Language: cmp.Or(a.Language, "unknown"), Kind: kindOf(a),
		OriginalID: o.ID, OriginalTitle: o.Title,
		Distance: v.Distance, Possible: v.Possible, Reason: v.Reason,
	}
}

// gap returns the row for a copy that came so long after its original.
func (r *StreamResult) gap(delay time.Duration) *GapCounts {
	i := len(gaps) - 1
	for gaps[i].from > delay {
		i--
	}
	return &r.Gaps[i]
}
