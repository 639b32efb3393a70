package learning

import (
	"encoding/json"
	"fmt"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
	"echosieve/simhash"
)

// life is how long a row counts, and renewal the time before its end in which it is published again.
var life, renewal = hours(learnt.Life), hours(learnt.Renewal)

// hours returns so many of the hours of this build as a time has: test builds have shorter ones.
func hours(d time.Duration) time.Duration { return time.Duration(d.Hours()) * hour }

// vetoYears is how long a veto counts.
const vetoYears = 100

// maxPublisher is the longest name of a publisher that is published, in bytes.
const maxPublisher = 1 << 10

// Begin returns the first full hour that is at least an hour after the broker appended a row.
func Begin(appended time.Time) time.Time { return fullHour(appended.Add(hour)) }

// horizon returns the begin of the earliest row that may be appended after the topic was read to its end, with ten
// minutes for clocks that differ.
func horizon(confirmed time.Time) time.Time { return fullHour(confirmed.Add(hour - hour/6)) }

// fullHour returns the first full hour at or after t.
func fullHour(t time.Time) time.Time {
	if down := t.Truncate(hour); !down.Equal(t) {
		return down.Add(hour)
	}
	return t
}

// value is the JSON of a row. A reader ignores rows of another version: their sentences have other hashes.
type value struct {
	Version   int    `json:"v"`
	Publisher string `json:"publisher"`
	Hash      uint64 `json:"hash"`
	Sentence  string `json:"sentence"`
	Articles  int    `json:"articles,omitempty"`
	Example   string `json:"example,omitempty"` // coordinates
	Never     bool   `json:"never,omitempty"`
}

// keyOf returns the key of a row. number counts what the writer has published: no two rows have one key.
func keyOf(r *learnt.Row, writer string, number int) []byte {
	return fmt.Appendf(nil, "%016x %s %d %s", r.Hash, writer, number, r.Publisher)
}

func recordOf(r *learnt.Row, key []byte) (record.Record, error) {
	v := value{Version: learnt.Format, Publisher: r.Publisher, Hash: r.Hash, Sentence: r.Sentence, Articles: r.Articles,
		Never: r.Never}
	if r.Example.Topic != "" {
		v.Example = r.Example.String()
	}
	encoded, err := json.Marshal(v)
	return record.Record{Key: key, Value: encoded, Time: time.Now()}, err
}

// RowOf reads a record of the topic. It is not ok if no writer of this version made it.
func RowOf(rec *record.Record) (r learnt.Row, ok bool) {
	var v value
	if json.Unmarshal(rec.Value, &v) != nil || v.Version != learnt.Format || len(rec.Key) == 0 ||
		len(v.Publisher) > maxPublisher {
		return r, false
	}
	r = learnt.Row{Publisher: v.Publisher, Hash: v.Hash, Sentence: article.Cut(v.Sentence, learnt.MaxSentence),
		Articles: v.Articles, Never: v.Never, Begin: Begin(rec.Time)}
	r.Example, _ = article.ParseCoordinates(v.Example) // a veto has none
	if r.End = r.Begin.Add(life); r.Never {
		r.End = r.Begin.AddDate(vetoYears, 0, 0)
	}
	return r, true
}

// idOf tells sentences of publishers apart, and vetoes from other rows.
func idOf(r *learnt.Row) uint64 {
	id := simhash.Mix(simhash.Hash(r.Publisher)) ^ r.Hash
	if r.Never {
		return ^id
	}
	return id
}
