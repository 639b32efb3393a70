package indexid

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Note is what a process commits beside an offset: the index in which it has decided the records below the offset, and the highest numbers
// that Redis had shown it by then.
//
// Its text is one word, a query as in a URL:
//
//	layout=3c00.18.4x15.11.5&markers=1&namespace=echosieve&recipe=news-4-3fa9c1d2&seen=1795412345678&ticket=48213&window=168h...
//
// The names db (unless 0), namespace, recipe and layout are the Place. markers, seen and ticket are the numbers. All others are Settings:
// readers ignore names that they do not know.
type Note struct {
	Index   ID
	Markers int       // number of markers of the index
	Seen    time.Time // the least of the highest numbers of the markers: about when the offset was committed
	Ticket  uint64    // the highest ticket drawn
	hash    string    // of a note that names no index
}

// The names that are no settings.
const (
	nameDatabase  = "db"
	nameNamespace = "namespace"
	nameRecipe    = "recipe"
	nameLayout    = "layout"
	nameMarkers   = "markers"
	nameSeen      = "seen"
	nameTicket    = "ticket"
)

// maxTicketBits bounds tickets: the upper half of 47 bits is for withdrawn ones.
const maxTicketBits = 46

// String returns the text of the note.
func (n Note) String() string {
	q := url.Values{
		nameNamespace: {n.Index.Namespace}, nameLayout: {n.Index.Layout}, nameMarkers: {strconv.Itoa(n.Markers)},
		nameSeen: {strconv.FormatInt(n.Seen.UnixMilli(), 10)}, nameTicket: {strconv.FormatUint(n.Ticket, 10)},
	}
	if n.Index.Database != 0 {
		q.Set(nameDatabase, strconv.Itoa(n.Index.Database))
	}
	if n.Index.Recipe != "" {
		q.Set(nameRecipe, n.Index.Recipe)
	}
	for name, value := range n.Index.Settings {
		q.Set(name, value)
	}
	return q.Encode()
}

// Parse decodes a note. It is not ok if the text is no note. A note of a version without ids names an index by a hash only: its
// Index is not Known, and Of says whether it is a given one.
func Parse(text string) (n Note, ok bool) {
	if parts := strings.Split(text, "."); len(parts) == 3 && !strings.Contains(text, "=") {
		n = Note{hash: parts[0]}
		return n, n.parseNumbers(parts[1], parts[2])
	}
	q, err := url.ParseQuery(text)
	if err != nil || q.Get(nameLayout) == "" {
		return Note{}, false
	}
	value := func(name string) string {
		v := q.Get(name)
		q.Del(name)
		return v
	}
	n.Index.Namespace, n.Index.Recipe, n.Index.Layout = value(nameNamespace), value(nameRecipe), value(nameLayout)
	n.Index.Database, _ = strconv.Atoi(value(nameDatabase)) // missing: 0
	n.Markers, _ = strconv.Atoi(value(nameMarkers))
	ok = n.parseNumbers(value(nameSeen), value(nameTicket))
	n.Index.Settings = map[string]string{}
	for name := range maps.Keys(q) {
		n.Index.Settings[name] = q.Get(name)
	}
	return n, ok
}

func (n *Note) parseNumbers(seen, ticket string) bool {
	ms, errSeen := strconv.ParseInt(seen, 10, 64)
	var errTicket error
	n.Ticket, errTicket = strconv.ParseUint(ticket, 10, maxTicketBits)
	n.Seen = time.UnixMilli(ms)
	return errSeen == nil && errTicket == nil && ms > 0
}

// Of says whether the note is about an index that has this number of markers.
func (n Note) Of(index ID, markers int) bool {
	if n.hash != "" {
		return n.hash == hash(index, markers)
	}
	return n.Index.Same(index) && n.Markers == markers
}

// Names says whether the note is about an index, whatever the number of its markers: 1 on a single server, 64 on a cluster.
func (n Note) Names(index ID) bool {
	return n.Of(index, 1) || n.Of(index, 64) || n.hash == "" && n.Index.Same(index)
}

// hash is the name of an index in notes of versions without ids.
func hash(index ID, markers int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", index.Prefix(), markers) // writing to a hash never fails
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}
