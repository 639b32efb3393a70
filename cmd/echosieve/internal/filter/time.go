package filter

import (
	"slices"
	"time"

	"echosieve/pipeline/decode"
)

// timeFields are the names of members that hold the time of an article, the best first.
type timeFields []string

// defaultTimes are the names that crawlers and feeds use.
var defaultTimes = []string{
	"ts", "time", "timestamp", "published_at", "publishedAt", "published", "publish_time", "publish_date",
	"date_publish", "publishing_date", "pubDate", "pub_date", "datePublished", "date", "created_at", "fetched_at",
}

// find returns the time of an article, a JSON object.
func (names timeFields) find(value []byte) (at time.Time, ok bool) {
	best := len(names)
	if !decode.IsObject(value) {
		return at, false
	}
	for name, v := range decode.Members(value) {
		if i := slices.Index(names, name); i >= 0 && i <= best { // of two members with one name the last one
			if t, valid := decode.ParseTime(v); valid {
				at, best = t, i
			}
		}
	}
	return at, best < len(names)
}
