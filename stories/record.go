package stories

import (
	"encoding/json"
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

// Record returns the record of a story that has copies, as AppendJSON writes it.
func (s *Story) Record(now time.Time, rules *Rules) (r Record) {
	_ = json.Unmarshal(s.AppendJSON(nil, now, rules), &r) // what AppendJSON writes can be read
	return r
}
