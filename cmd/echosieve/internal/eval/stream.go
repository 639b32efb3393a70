package eval

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// StreamArticle is an article of a stream with its label.
type StreamArticle struct {
	ID, Title string
	DupOf     string // id of the earlier article that it repeats; empty for an original
	Language  string
	Kind      string // how the copy was edited; may be empty
	Time      time.Time
	Ambiguous bool // goes through the filter but does not count
}

// StreamVerdict is what the filter said about the article of the same place in the stream.
type StreamVerdict struct {
	Dead     bool
	Original int // place in the stream of the article that it is held to repeat; -1 if it is held to be unique
	Distance int // bits
}

// StreamCounts counts the articles of a language or kind.
type StreamCounts struct {
	Copies        int `json:"copies"`
	Caught        int `json:"caught"` // copies held to repeat something
	Originals     int `json:"originals"`
	Dropped       int `json:"dropped"`        // originals held to repeat something
	WrongOriginal int `json:"wrong_original"` // caught copies held to repeat an article of another cluster
}

// CaughtShare is the share of copies caught, 1 if there are none.
func (c StreamCounts) CaughtShare() float64 {
	if c.Copies == 0 {
		return 1
	}
	return ratio(c.Caught, c.Copies)
}

// GapCounts counts the copies that came a certain time after the first article of their cluster.
type GapCounts struct {
	From   string `json:"from"` // such as "1h0m0s": from this on, to the next row's
	Copies int    `json:"copies"`
	Caught int    `json:"caught"`
}

// Repeat is an article that was held to repeat another, wrongly.
type Repeat struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	Language      string `json:"language"`
	OriginalID    string `json:"original_id"`
	OriginalTitle string `json:"original_title"`
	Distance      int    `json:"distance"` // bits
}

// Delay is how long articles waited for their verdicts, in milliseconds: the time of their batch in the filter.
type Delay struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// StreamResult is what Stream found out. Lookups, Candidates and Delay are left to the caller.
type StreamResult struct {
	Articles   int                     `json:"articles"`
	Ambiguous  int                     `json:"ambiguous"` // that do not count
	Dead       int                     `json:"dead"`      // that could not be processed and do not count
	Languages  map[string]StreamCounts `json:"languages"`
	Kinds      map[string]StreamCounts `json:"kinds"`
	Gaps       []GapCounts             `json:"gaps"`
	Lookups    float64                 `json:"lookups_per_article"`
	Candidates float64                 `json:"candidates_per_article"`
	Delay      Delay                   `json:"delay_ms"`
	Dropped    []Repeat                `json:"dropped_originals"`
	Wrong      []Repeat                `json:"wrong_originals"`
}

// Total adds up all languages.
func (r *StreamResult) Total() StreamCounts {
	var t StreamCounts
	for _, c := range r.Languages {
		t.Copies += c.Copies
		t.Caught += c.Caught
		t.Originals += c.Originals
		t.Dropped += c.Dropped
		t.WrongOriginal += c.WrongOriginal
	}
	return t
}

// gaps are the lower ends of GapCounts.
var gaps = []time.Duration{0, time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour}

// Stream compares verdicts with labels. Articles are in the order in which the filter saw them, verdicts[i] is about
// articles[i]. A copy of an article that is not an earlier one, and an id that occurs twice, are errors.
func Stream(articles []StreamArticle, verdicts []StreamVerdict) (StreamResult, error) {
	firsts, err := clusters(articles)
	if err != nil {
		return StreamResult{}, err
	}
	r := StreamResult{
		Articles: len(articles), Languages: map[string]StreamCounts{}, Kinds: map[string]StreamCounts{},
		Gaps: make([]GapCounts, len(gaps)), Dropped: []Repeat{}, Wrong: []Repeat{},
	}
	for i, from := range gaps {
		r.Gaps[i].From = from.String()
	}
	for i := range articles {
		a, v := &articles[i], verdicts[i]
		switch {
		case a.Ambiguous:
			r.Ambiguous++
			continue
		case v.Dead:
			r.Dead++
			continue
		}
		var one StreamCounts
		flagged := v.Original >= 0
		if a.DupOf == "" {
			one.Originals = 1
			if flagged {
				one.Dropped = 1
				r.Dropped = append(r.Dropped, repeat(articles, i, v))
			}
		} else {
			one.Copies = 1
			gap := &r.Gaps[gapOf(a.Time.Sub(articles[firsts[i]].Time))]
			gap.Copies++
			if flagged {
				one.Caught = 1
				gap.Caught++
				if firsts[v.Original] != firsts[i] {
					one.WrongOriginal = 1
					r.Wrong = append(r.Wrong, repeat(articles, i, v))
				}
			}
		}
		r.Languages[a.Language] = r.Languages[a.Language].plus(one)
		kind := cmp.Or(a.Kind, "none")
		r.Kinds[kind] = r.Kinds[kind].plus(one)
	}
	return r, nil
}

// clusters returns for each article the place of the first one of its cluster.
func clusters(articles []StreamArticle) ([]int, error) {
	places := make(map[string]int, len(articles))
	firsts := make([]int, len(articles))
	for i, a := range articles {
		if _, known := places[a.ID]; known {
			return nil, fmt.Errorf("two articles have the id %s", a.ID)
		}
		firsts[i] = i
		if a.DupOf != "" {
			original, known := places[a.DupOf]
			if !known {
				return nil, fmt.Errorf("article %s repeats %s, which is no earlier article", a.ID, a.DupOf)
			}
			firsts[i] = firsts[original]
		}
		places[a.ID] = i
	}
	return firsts, nil
}

func (c StreamCounts) plus(d StreamCounts) StreamCounts {
	return StreamCounts{
		Copies: c.Copies + d.Copies, Caught: c.Caught + d.Caught, Originals: c.Originals + d.Originals,
		Dropped: c.Dropped + d.Dropped, WrongOriginal: c.WrongOriginal + d.WrongOriginal,
	}
}

func repeat(articles []StreamArticle, i int, v StreamVerdict) Repeat {
	a, o := &articles[i], &articles[v.Original]
	return Repeat{
		ID: a.ID, Title: a.Title, Language: a.Language,
		OriginalID: o.ID, OriginalTitle: o.Title, Distance: v.Distance,
	}
}

func gapOf(d time.Duration) int {
	i, _ := slices.BinarySearchFunc(gaps, d, func(gap, d time.Duration) int {
		if gap <= d {
			return -1
		}
		return 1
	})
	return max(0, i-1)
}
