package watch

import (
	"net/url"
	"strconv"
	"time"

	"echosieve/redisindex/keyspace"
)

// Label is what the index adds to the label of a commit: the index in which the process has decided the
// records below the offset, and the highest numbers that Redis had shown it by then.
//
// Its text is one word, a query as in a URL:
//
//	layout=3c00.18.3x16.11.5&markers=1&namespace=echosieve&recipe=news-10-3fa9c1d2&seen=1795412345678&ticket=48213...
//
// The names db (unless 0), namespace, recipe and layout are its Name. markers, seen and ticket are the
// numbers. All others are Settings, which decide nothing.
type Label struct {
	Index   keyspace.ID
	Markers int       // number of markers of the index
	Seen    time.Time // the least of the highest numbers of the markers: about when the offset was committed
	Ticket  uint64    // the highest ticket drawn
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

// String returns the text of the label.
func (l Label) String() string {
	q := url.Values{
		nameNamespace: {l.Index.Namespace}, nameLayout: {l.Index.Layout}, nameMarkers: {strconv.Itoa(l.Markers)},
		nameSeen: {strconv.FormatInt(l.Seen.UnixMilli(), 10)}, nameTicket: {strconv.FormatUint(l.Ticket, 10)},
	}
	if l.Index.Database != 0 {
		q.Set(nameDatabase, strconv.Itoa(l.Index.Database))
	}
	if l.Index.Recipe != "" {
		q.Set(nameRecipe, l.Index.Recipe)
	}
	for name, value := range l.Index.Settings {
		q.Set(name, value)
	}
	return q.Encode()
}

// ParseLabel decodes a label. It is not ok if the text is no label.
func ParseLabel(text string) (l Label, ok bool) {
	q, err := url.ParseQuery(text)
	if err != nil || q.Get(nameLayout) == "" {
		return Label{}, false
	}
	value := func(name string) string {
		v := q.Get(name)
		q.Del(name)
		return v
	}
	l.Index.Namespace, l.Index.Recipe, l.Index.Layout = value(nameNamespace), value(nameRecipe), value(nameLayout)
	l.Index.Database, _ = strconv.Atoi(value(nameDatabase)) // missing: 0
	l.Markers, _ = strconv.Atoi(value(nameMarkers))
	ms, errSeen := strconv.ParseInt(value(nameSeen), 10, 64)
	ticket, errTicket := strconv.ParseUint(value(nameTicket), 10, keyspace.TicketBits)
	l.Seen, l.Ticket = time.UnixMilli(ms), ticket
	l.Index.Settings = map[string]string{}
	for name := range q {
		l.Index.Settings[name] = q.Get(name)
	}
	return l, errSeen == nil && errTicket == nil && ms > 0
}
