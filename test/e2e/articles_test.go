package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/sample"
)

// wantArticles is the fewest articles of a run.
const wantArticles = 3000

// articles repeats the sample in rounds. All texts of one story (zh-metro, zh-metro-src) get the same 60
// additional words in a round, so they stay copies of each other and are no copies of other rounds and
// stories. Those of a Chinese story have one key, hence one partition, and their verdicts follow from their
// order. Those of an English story are in several partitions, and several processes decide about them at
// once.
func articles(t testing.TB) []*kgo.Record {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	var records []*kgo.Record
	for round := 0; len(records) < wantArticles; round++ {
		for line := range bytes.Lines(sample.News) {
			var a map[string]any
			if json.Unmarshal(line, &a) != nil {
				continue
			}
			id, hasID := a["id"].(string)
			text, hasText := a["text"].(string)
			if !hasID || !hasText {
				continue
			}
			parts := strings.SplitN(id, "-", 3)
			story := fmt.Sprintf("%s-%d", strings.Join(parts[:2], "-"), round)
			key := fmt.Sprintf("%s-%d", id, round)
			a["id"], a["text"] = key, text+wordsOf(story)
			value, err := json.Marshal(a)
			require.NoError(t, err)
			if parts[0] == "zh" {
				key = story
			}
			records = append(records, &kgo.Record{
				Key: []byte(key), Value: value, Timestamp: start.Add(time.Duration(len(records)) * time.Minute),
			})
		}
	}
	return withBroken(records)
}

// wordsOf returns 60 words that no other story has.
func wordsOf(story string) string {
	r := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(story))))
	var words strings.Builder
	for range 60 {
		fmt.Fprintf(&words, " w%x", r.Uint32())
	}
	return words.String()
}

// broken are values that become dead letters, with their reasons.
var broken = map[string]record.RejectReason{
	"not JSON": record.NotJSON, `{"id":"no-text"}`: record.NoText, `{"id":"wrong","text":7}`: record.WrongType,
	`{"id":"empty","text":"<p> </p>"}`: record.EmptyText, "": record.NotJSON, "{}": record.NoText,
}

// withBroken puts broken records and null values between the records, and gives each record headers, a forged
// one of Echosieve among them.
func withBroken(records []*kgo.Record) []*kgo.Record {
	values := slices.Sorted(maps.Keys(broken))
	out := make([]*kgo.Record, 0, len(records)+len(records)/50)
	for i, r := range records {
		r.Headers = []kgo.RecordHeader{{Key: "crawler", Value: []byte{byte(i), 0xff}}, {Key: "null"},
			{Key: "echosieve-verdict", Value: []byte("forged")}}
		out = append(out, r)
		if i%100 == 50 {
			out = append(out, &kgo.Record{Value: []byte(values[i/100%len(values)]), Timestamp: r.Timestamp})
		}
		if i%500 == 250 {
			out = append(out, &kgo.Record{Key: []byte("tombstone"), Timestamp: r.Timestamp})
		}
	}
	return out
}
