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

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
	"echosieve/sample"
	"echosieve/simhash"
	"echosieve/test/ledger"
)

// account requires that the service kept every promise that package ledger can check without the texts: every
// record has an output in the right topic and partition, all deliveries of a record are the same, and every
// root is the end of its chain.
func account(t testing.TB, c cluster, r *recipe.Recipe, inputs map[string]*kgo.Record,
	outputs []*kgo.Record) map[string]*ledger.Outcome {
	t.Helper()
	report := ledger.Run{
		Inputs: inputs, Outputs: outputs, Partitions: partitions, Member: c.member,
		Topics: ledger.Topics{Unique: c.topic + "-unique", Duplicate: c.topic + "-duplicate", Dead: c.topic + "-dead"},
		Reason: func(input string) record.RejectReason { return reason(r, inputs[input]) },
	}.Check()
	require.Empty(t, report.Violations)
	return report.Seen
}

// reason is the reason of the dead letter that a record must become, or empty.
func reason(r *recipe.Recipe, in *kgo.Record) record.RejectReason {
	if in.Value == nil {
		return ""
	}
	if known, is := broken[string(in.Value)]; is {
		return known
	}
	decode := decode.DefaultConfig()
	doc, reject := decode.Decode(&record.Record{Value: in.Value})
	if reject != nil {
		return reject.Reason
	}
	if a, _ := r.Fingerprint(doc.Text, article.Origin{}); a.Empty {
		return record.EmptyText
	}
	return ""
}

// checkVerdicts checks every verdict against a comparison of all articles with all others. The original of a
// copy must be one that the copy repeats. Of two copies of each other that look-ups find, one must be
// published as a copy.
func checkVerdicts(t testing.TB, r *recipe.Recipe, index keyspace.Config, decode decode.Config,
	windowMillis int64,
	inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome,
) (copies int) {
	t.Helper()
	type decided struct {
		input  string
		millis int64
		print  article.Article
	}
	var all []decided
	for input, in := range inputs {
		doc, reject := decode.Decode(&record.Record{Value: in.Value})
		var a article.Article
		if reject == nil {
			a, _ = r.Fingerprint(doc.Text, article.Origin{})
		}
		if in.Value == nil || reject != nil || a.Empty {
			continue
		}
		all = append(all, decided{input, in.Timestamp.UnixMilli(), a})
	}
	plan := index.Plan()
	isCopy := func(later, earlier *decided) bool {
		if d := later.millis - earlier.millis; d > windowMillis || d < -windowMillis {
			return false
		}
		return plan.Judge(&index.Rule, &later.print, &earlier.print).Kind.IsCopy()
	}
	// crowded says whether more articles are candidates at the distance of the earlier article, or nearer,
	// than an index compares.
	crowded := func(later, earlier *decided) bool {
		candidates, distance := 0, simhash.Distance(later.print.Fingerprint, earlier.print.Fingerprint)
		for i := range all {
			other := &all[i].print
			if simhash.Distance(later.print.Fingerprint, other.Fingerprint) <= distance &&
				plan.Finds(&later.print, other) && plan.InReach(&later.print, other) {
				candidates++
			}
		}
		return candidates > index.MaxCandidates
	}
	copyOf := map[string]bool{"near": true, "exact": true}
	for i := range all {
		a := &all[i]
		h := seen[a.input].Headers
		neighbours := map[string]bool{}
		for j := range all {
			if i == j || !isCopy(a, &all[j]) {
				continue
			}
			neighbours[all[j].input] = true
			// Look-ups probe the weak bits of the later article and use its anchors. Either article may be
			// the later one, so both must find the other.
			if isCopy(&all[j], a) && plan.Finds(&a.print, &all[j].print) && plan.Finds(&all[j].print, &a.print) {
				one := copyOf[h[pipeline.HeaderVerdict]] || copyOf[seen[all[j].input].Headers[pipeline.HeaderVerdict]]
				require.True(t, one || crowded(a, &all[j]) || crowded(&all[j], a),
					"%s and %s are copies of each other, but neither was published as a copy", a.input, all[j].input)
			}
		}
		if !copyOf[h[pipeline.HeaderVerdict]] {
			continue
		}
		copies++
		require.True(t, neighbours[h[pipeline.HeaderOriginal]], "%s names as its original %s, of which it is no copy",
			a.input, h[pipeline.HeaderOriginal])
	}
	return copies
}

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
