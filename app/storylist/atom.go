package storylist

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"echosieve/app/visible"
)

// feed is an Atom feed (RFC 4287).
type feed struct {
	XMLName xml.Name  `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string    `xml:"id"`
	Title   string    `xml:"title"`
	Updated time.Time `xml:"updated"`
	Author  string    `xml:"author>name"`
	Links   []link    `xml:"link"`
	Entries []entry   `xml:"entry"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type entry struct {
	ID        string    `xml:"id"`
	Title     string    `xml:"title"`
	Published time.Time `xml:"published"`
	Updated   time.Time `xml:"updated"`
	Links     []link    `xml:"link"`
	Content   string    `xml:"content"` // without it an entry needs a link
}

// urn is the id of a feed or an entry, which never changes. A topic's name has no colon.
func urn(kind, name string) string {
	return "urn:echosieve:" + kind + ":" + strings.ReplaceAll(name, "/", ":")
}

// atom is the feed of some stories.
func (l *List) atom(r *http.Request, list []*kept) *feed {
	// relative: a proxy may serve the feed below another path
	self := url.URL{Path: "stories.atom", RawQuery: r.URL.Query().Encode()}
	f := &feed{ID: urn("stories", l.topic), Title: "Stories: " + l.topic, Author: "Echosieve",
		Updated: time.Unix(0, 0).UTC(), Links: []link{{"self", self.String()}}}
	for i, one := range list {
		if i == 0 {
			f.Updated = one.changed.UTC()
		}
		title := cmp.Or(one.Root.Title, one.Root.ID)
		for _, l := range slices.Backward(one.Labels) {
			title = "[" + l.Label + "] " + title
		}
		e := entry{ID: urn("story", one.Root.Coordinates), Title: visible.Line(title),
			Published: one.FirstTime.UTC(), Updated: one.changed.UTC(), Content: summary(one)}
		address := cmp.Or(one.Best.URL, one.Root.URL)
		if u, err := url.Parse(address); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			e.Links = []link{{"alternate", u.String()}}
		}
		f.Entries = append(f.Entries, e)
	}
	return f
}

// summary says who carried a story, in a line.
func summary(one *kept) string {
	var names []string
	for _, p := range one.ByPublisher[:min(len(one.ByPublisher), 10)] {
		names = append(names, cmp.Or(p.Name, "publisher unknown"))
	}
	return visible.Line(visible.Count(one.Publishers, "publisher") + ", " + visible.Count(one.Copies, "copy") + ": " +
		strings.Join(names, ", "))
}
