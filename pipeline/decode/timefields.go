package decode

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// TimeFields are the names of members that hold the time of an article, the best first.
type TimeFields []string

// DefaultTimes are the names that crawlers and feeds use.
var DefaultTimes = TimeFields{
	"ts", "time", "timestamp", "published_at", "publishedAt", "published", "publish_time", "publish_date",
	"date_publish", "publishing_date", "pubDate", "pub_date", "datePublished", "date", "created_at", "fetched_at",
}

// Find returns the time of an article, a JSON object; without one the first text that cannot be read as a time. Of
// another value it may be any time.
func (names TimeFields) Find(value []byte) (at time.Time, unread string) {
	best := len(names)
	gjson.ParseBytes(value).ForEach(func(name, v gjson.Result) bool {
		if i := slices.Index(names, name.Str); i >= 0 && i <= best { // of two members with one name the last one
			if t, valid := ParseTime(v); valid {
				at, best = t, i
			} else if unread == "" {
				unread = UnreadTime(v)
			}
		}
		return true
	})
	if best < len(names) {
		unread = ""
	}
	return at, unread
}
