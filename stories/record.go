package stories

import (
	"slices"
	"time"
)

// Record is the record of a story: docs/stories.schema.json describes its JSON. Its JSON names never change.
type Record struct {
	Root Root `json:"root"`
	// Copies is the number of articles beside the root; Exact and Near are those of each kind.
	Copies int `json:"copies"`
	Exact  int `json:"exact"`
	Near   int `json:"near"`
	// Publishers is the number of different publishers, with that of the root. Estimated says that it may be wrong
	// by 2 %: there are more than 16,448.
	Publishers  int         `json:"publishers"`
	Estimated   bool        `json:"publishers_estimated,omitempty"`
	ByPublisher []Publisher `json:"by_publisher"` // the first MaxNamed, by the time of their first article
	FirstTime   time.Time   `json:"first_time"`
	LastTime    time.Time   `json:"last_time"`
	Best        Best        `json:"best"`
	// Versions is the number of articles that revise or extend one, of publishers that carried the story already.
	Versions int    `json:"versions"`
	Related  []Root `json:"related,omitempty"` // articles that resemble the root, at most MaxRelated, by time
	State    string `json:"state"`             // open or ended
	Version  uint64 `json:"version"`           // grows with each change of the story
}

// Root is an article of a Record. Publisher and the fields after it are missing if the record of the root is gone.
type Root struct {
	ID          string     `json:"id"`
	Coordinates string     `json:"coordinates"`
	Publisher   string     `json:"publisher"`
	Title       string     `json:"title,omitempty"`
	URL         string     `json:"url,omitempty"`
	Time        *time.Time `json:"time,omitempty"`
}

// Publisher is one that carried a story.
type Publisher struct {
	Name      string    `json:"name"`   // empty: all articles without a publisher
	Copies    int       `json:"copies"` // without the root
	FirstTime time.Time `json:"first_time"`
	// ID, Coordinates and Relation are those of its first article.
	ID          string `json:"id"`
	Coordinates string `json:"coordinates"`
	Relation    string `json:"relation"` // to the original; root, or none where the recipe does not tell
}

// Best is the article to show.
type Best struct {
	ID          string `json:"id"`
	Coordinates string `json:"coordinates"`
	Publisher   string `json:"publisher"`
	URL         string `json:"url,omitempty"`
	Why         string `json:"why"` // trusted, longest or earliest
}

// The values of Record.State, and the relation of a root.
const (
	Open         = "open"
	Ended        = "ended"
	rootRelation = "root"
)

// Record returns the record of a story that has copies. The story has ended if now is more than a window after its
// last copy.
func (s *Story) Record(now time.Time, rules *Rules) Record {
	best, first, last := s.best, s.first, s.last
	carried := publishers{slices.Clone(s.publishers.named), slices.Clone(s.publishers.others), s.publishers.dropped}
	_, known := s.Root()
	if known {
		best = rules.better(best, candidate{Article: s.root, root: true})
		if s.root.Time.Before(first) {
			first = s.root.Time
		}
		if s.root.Time.After(last) {
			last = s.root.Time
		}
		carried.add(publisher{
			name: s.root.Publisher, articles: 1, first: s.root.Time, ref: s.root.Ref,
			relation: rootRelation,
		})
	}
	n, exact := carried.count()
	slices.SortFunc(carried.named, byArticle)
	r := Record{
		Root: rootOf(s.root), Copies: s.copies, Exact: s.exact, Near: s.copies - s.exact,
		Publishers: n, Estimated: !exact, ByPublisher: make([]Publisher, len(carried.named)),
		FirstTime: first, LastTime: last,
		Best:     Best{best.ID, best.String(), best.Publisher, best.URL, criteria[best.why]},
		Versions: carried.versions(), State: Open, Version: s.version,
	}
	for i, p := range carried.named {
		r.ByPublisher[i] = Publisher{p.name, p.articles, p.first, p.ref.ID, p.ref.String(), p.relation}
		if known && p.name == s.root.Publisher {
			r.ByPublisher[i].Copies--
		}
	}
	for _, a := range s.related {
		r.Related = append(r.Related, rootOf(a))
	}
	if now.Sub(last) > rules.Window {
		r.State = Ended
	}
	return r
}

func rootOf(a Article) Root {
	r := Root{ID: a.ID, Coordinates: a.String(), Publisher: a.Publisher, Title: a.Title, URL: a.URL}
	if !a.Time.IsZero() {
		r.Time = &a.Time
	}
	return r
}
