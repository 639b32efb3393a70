package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/sample"
)

// wantArticles is the fewest articles of a run.
const wantArticles = 3000

// articles returns real news with their timestamps if the corpora are there (in ECHOSIEVE_TEST_CORPORA, or in ../shared/corpora beside the
// repository). Otherwise it returns edited copies of the shipped sample. Broken records are put in between.
func articles(t testing.TB) []*kgo.Record {
	t.Helper()
	dir := os.Getenv("ECHOSIEVE_TEST_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	var records []*kgo.Record
	if f, err := os.Open(filepath.Join(dir, "stream_mixed.jsonl.gz")); err == nil {
		defer f.Close()
		unzip, err := gzip.NewReader(f)
		require.NoError(t, err)
		records = fromCorpus(t, unzip)
	} else {
		t.Logf("no corpora in %s: the shipped sample, multiplied", dir)
		records = fromSample(t)
	}
	require.GreaterOrEqual(t, len(records), wantArticles)
	return withBroken(records)
}

func fromCorpus(t testing.TB, unzip *gzip.Reader) []*kgo.Record {
	t.Helper()
	var records []*kgo.Record
	lines := bufio.NewScanner(unzip)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		var a struct {
			ID string
			TS int64
		}
		require.NoError(t, json.Unmarshal(line, &a))
		records = append(records, &kgo.Record{Key: []byte(a.ID), Value: line, Timestamp: time.Unix(a.TS, 0)})
	}
	require.NoError(t, lines.Err())
	return records
}

// fromSample repeats the sample in rounds. All texts of a round get the same 60 additional words, which differ between the rounds, so the
// copies in a round stay copies. Long texts of different rounds can be copies of each other, too.
func fromSample(t testing.TB) []*kgo.Record {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	start := time.Unix(1_700_000_000, 0)
	var records []*kgo.Record
	for round := 0; len(records) < wantArticles; round++ {
		var words strings.Builder
		for range 60 {
			fmt.Fprintf(&words, " w%x", r.Uint32())
		}
		for line := range bytes.Lines(sample.News) {
			var a map[string]any
			if json.Unmarshal(line, &a) != nil || a["id"] == nil {
				continue
			}
			text, isText := a["text"].(string)
			if !isText {
				continue
			}
			id := fmt.Sprintf("%s-%d", a["id"], round)
			a["id"], a["text"] = id, text+words.String()
			value, err := json.Marshal(a)
			require.NoError(t, err)
			records = append(records, &kgo.Record{
				Key: []byte(id), Value: value, Timestamp: start.Add(time.Duration(len(records)) * time.Minute),
			})
		}
	}
	return records
}

// broken are values that become dead letters, with their reasons.
var broken = map[string]pipeline.RejectReason{
	"not JSON": pipeline.NotJSON, `{"id":"no-text"}`: pipeline.NoText, `{"id":"wrong","text":7}`: pipeline.WrongType,
	`{"id":"empty","text":"<p> </p>"}`: pipeline.EmptyText, "": pipeline.NotJSON, "{}": pipeline.NoText,
}

// withBroken puts broken records and null values between the records, and gives each record headers, a forged one of Echosieve among them.
func withBroken(records []*kgo.Record) []*kgo.Record {
	values := slices.Sorted(maps.Keys(broken))
	out := make([]*kgo.Record, 0, len(records)+len(records)/50)
	for i, r := range records {
		r.Headers = []kgo.RecordHeader{{Key: "crawler", Value: []byte{byte(i), 0xff}}, {Key: "null"}, {Key: "echosieve-verdict", Value: []byte("forged")}}
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
