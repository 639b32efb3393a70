package figures

import "echosieve/pipeline/article"

// Joins counts the articles of a stream that were judged copies, by whether one publisher published both texts.
type Joins struct {
	Publishers string `json:"publishers"` // "within one", "across" or "unknown"
	Copies     int    `json:"copies"`     // articles that were judged copies
	Published  int    `json:"published"`  // of these, not sent to the topic of duplicates
	Equal      int    `json:"equal"`      // dropped, with a text that is equal after folding
	Edited     int    `json:"edited"`     // dropped, with another text: what Sample draws from

	edited []Dropped
}

// JoinPair is an article that was dropped, and the earlier one that it was judged to repeat.
type JoinPair struct {
	Publishers string `json:"publishers"` // as in Joins
	Beside
}

// joins returns Joins of a stream, those within one publisher first.
func joins(articles []StreamArticle, verdicts []StreamVerdict) []Joins {
	list := []Joins{{Publishers: "within one"}, {Publishers: "across"}, {Publishers: "unknown"}}
	for i, v := range verdicts {
		if !v.Flagged {
			continue
		}
		later, earlier := articles[i].Publisher, articles[v.Original].Publisher
		group := 1
		switch {
		case later == "" || earlier == "":
			group = 2
		case later == earlier:
			group = 0
		}
		j := &list[group]
		j.Copies++
		switch {
		case v.Published:
			j.Published++
		case v.Reason == article.ReasonDigest.String():
			j.Equal++
		default:
			j.Edited++
			j.edited = append(j.edited, Dropped{group, i, v.Original})
		}
	}
	return list
}

// Sample returns up to n of the articles that were dropped without an equal text, for each of Joins.
func (r *StreamResult) Sample(n int) (drawn []Dropped) {
	for i := range r.Joins {
		drawn = append(drawn, spread(r.Joins[i].edited, n)...)
	}
	return drawn
}
