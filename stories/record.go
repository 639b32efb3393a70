package stories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	Publishers  int             `json:"publishers"`
	Estimated   bool            `json:"publishers_estimated,omitempty"`
	First       First           `json:"first"`        // the earliest article
	ByPublisher List[Publisher] `json:"by_publisher"` // the first MaxNamed, by the time of their first article
	FirstTime   time.Time       `json:"first_time"`
	LastTime    time.Time       `json:"last_time"`
	Best        Best            `json:"best"`
	Origin      Origin          `json:"origin"`
	// Versions is the number of articles that revise or extend one, of publishers that carried the story already.
	Versions int         `json:"versions"`
	Related  List[Root]  `json:"related,omitempty"` // articles that resemble the root, at most MaxRelated, by time
	Labels   List[Label] `json:"labels,omitempty"`  // warnings, at most MaxLabels, by time
	State    string      `json:"state"`             // open or ended
	Version  uint64      `json:"version"`           // grows with each change of the story
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

// First is the earliest article of a story, the root among them.
type First struct {
	Publisher   string    `json:"publisher"`
	ID          string    `json:"id"`
	Coordinates string    `json:"coordinates"`
	Time        time.Time `json:"time"`
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

// Origin is whom most articles of a story name as its origin, or else the publisher of the first article. It says who
// is named, not who wrote the story.
type Origin struct {
	Name     string `json:"name"`     // empty: the first article has no publisher
	By       string `json:"by"`       // where its first article names it: field or credit; first: nobody is named
	Articles int    `json:"articles"` // that name it
	Of       int    `json:"of"`       // all articles, with the root if it is known
}

// byFirstArticle is Origin.By where no article names an origin.
const byFirstArticle = "first"

// origin returns the origin among those named. Of several that as many articles name, it is the one named first.
func (p *publishers) origin(first *First, of int) Origin {
	o := Origin{Name: first.Publisher, By: byFirstArticle, Of: of}
	slices.SortFunc(p.named, byArticle)
	for _, one := range p.named {
		if one.articles > o.Articles {
			o.Name, o.By, o.Articles = one.name, one.relation, one.articles
		}
	}
	return o
}

// Origins returns the number of different origins of stories.
func Origins(all []Record) int {
	names := map[string]bool{}
	for i := range all {
		names[all[i].Origin.Name] = true
	}
	return len(names)
}

// The values of Record.State.
const (
	Open  = "open"
	Ended = "ended"
)

// Record returns the record of a story that has copies. The story has ended if now is more than a window after its
// last copy. Its times are of years that JSON can hold.
func (s *Story) Record(now time.Time, rules *Rules) Record {
	all := s.tally
	all.publishers, all.credited = s.publishers.clone(), s.credited.clone()
	root, known := s.root, !s.root.Time.IsZero()
	if known {
		all.add(root, rootRelation, rules)
	}
	n, exact := all.publishers.count()
	r := Record{
		Root: rootOf(&root), Copies: s.articles, Exact: s.exact, Near: s.articles - s.exact, Publishers: n, Estimated: !exact,
		ByPublisher: make(List[Publisher], 0, len(all.publishers.named)), FirstTime: all.first, LastTime: all.last,
		Best: Best{ID: all.best.ID, Coordinates: all.best.String(), Publisher: all.best.Publisher, URL: all.best.URL,
			Why: criteria[all.best.why]},
		Versions: all.publishers.versions(), State: Open, Version: s.version,
	}
	slices.SortFunc(all.publishers.named, byArticle)
	for _, p := range all.publishers.named {
		copies := p.articles
		if known && p.name == root.Publisher {
			copies--
		}
		r.ByPublisher = append(r.ByPublisher, Publisher{Name: p.name, Copies: copies, FirstTime: p.first, ID: p.ref.ID,
			Coordinates: p.ref.String(), Relation: p.relation})
	}
	if len(r.ByPublisher) > 0 { // a story with copies
		one := r.ByPublisher[0]
		r.First = First{Publisher: one.Name, ID: one.ID, Coordinates: one.Coordinates, Time: one.FirstTime}
	}
	if known && root.Time.Equal(all.first) { // of more than MaxNamed publishers at one time, it may not be named
		r.First = First{Publisher: root.Publisher, ID: root.ID, Coordinates: root.String(), Time: all.first}
	}
	r.Labels = slices.Clone(s.labels)
	r.Origin = all.credited.origin(&r.First, all.articles)
	for i := range s.related {
		r.Related = append(r.Related, rootOf(&s.related[i]))
	}
	if now.Sub(all.last) > rules.Window {
		r.State = Ended
	}
	return r
}

func rootOf(a *Article) Root {
	r := Root{ID: a.ID, Coordinates: a.String(), Publisher: a.Publisher, Title: a.Title, URL: a.URL}
	if at := a.Time; !at.IsZero() {
		r.Time = &at
	}
	return r
}

// List is a list of a Record. One that is longer than those of a story cannot be read: whoever wrote it could make a
// small record take a hundred times its size.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return errors.Join(err, errors.New("is no array"))
	}
	for *l = nil; d.More(); {
		var one T
		if len(*l) == MaxNamed {
			return fmt.Errorf("has more than %d elements", MaxNamed)
		}
		if err := d.Decode(&one); err != nil {
			return err
		}
		*l = append(*l, one)
	}
	return nil
}
