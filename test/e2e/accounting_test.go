package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
)

// outcome is what was published for one input record.
type outcome struct {
	topic      string
	headers    map[string]string
	deliveries int
}

func coordinates(r *kgo.Record) string {
	return pipeline.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
}

func headersOf(r *kgo.Record) map[string]string {
	h := map[string]string{}
	for _, x := range r.Headers {
		h[x.Key] = string(x.Value)
	}
	return h
}

// account assigns each output record to its input record and checks that every delivery of a record is the
// same: one topic, one verdict, and key, value, timestamp and foreign headers unchanged.
func account(t testing.TB, inputs map[string]*kgo.Record, outputs []*kgo.Record) map[string]*outcome {
	t.Helper()
	seen := map[string]*outcome{}
	for _, out := range outputs {
		h := headersOf(out)
		source := h[pipeline.HeaderSource]
		in := inputs[source]
		require.NotNil(t, in, "%s names the source %q", coordinates(out), source)
		require.Equal(t, in.Key == nil, out.Key == nil, source)
		require.Equal(t, in.Key, out.Key, source)
		require.Equal(t, in.Value == nil, out.Value == nil, source)
		require.Equal(t, in.Value, out.Value, source)
		require.Equal(t, in.Timestamp.UnixMilli(), out.Timestamp.UnixMilli(), source)
		require.Equal(t, foreign(in.Headers), foreign(out.Headers), source)
		if o := seen[source]; o != nil {
			require.Equal(t, o.topic, out.Topic, source)
			require.Equal(t, o.headers, h, "%s was delivered twice and differs", source)
			o.deliveries++
			continue
		}
		seen[source] = &outcome{topic: out.Topic, headers: h, deliveries: 1}
	}
	for source := range inputs {
		require.NotNil(t, seen[source], "%s is lost", source)
	}
	return seen
}

func foreign(headers []kgo.RecordHeader) []string {
	var kept []string
	for _, h := range headers {
		if !strings.HasPrefix(h.Key, "echosieve-") {
			kept = append(kept, fmt.Sprintf("%s=%q null=%t", h.Key, h.Value, h.Value == nil))
		}
	}
	return kept
}

// checkOrder requires that each input partition's records stand in their order in each output topic, where
// redelivered records do not count.
func checkOrder(t testing.TB, outputs []*kgo.Record) {
	t.Helper()
	type lane struct {
		topic     string
		partition int32
		source    string
	}
	newest := map[lane]int64{}
	home := map[lane]int32{}
	seen := map[string]bool{}
	for _, out := range outputs {
		source := headersOf(out)[pipeline.HeaderSource]
		cut := strings.LastIndexByte(source, '/')
		var offset int64
		_, err := fmt.Sscan(source[cut+1:], &offset)
		require.NoError(t, err)
		l := lane{out.Topic, out.Partition, source[:cut]}
		where := lane{topic: out.Topic, source: source[:cut]}
		if p, known := home[where]; known {
			require.Equal(t, p, out.Partition, "%s is spread over partitions of %s", where.source, out.Topic)
		}
		home[where] = out.Partition
		if !seen[source] {
			if last, known := newest[l]; known {
				require.Greater(t, offset, last, "%s of %s", source, out.Topic)
			}
			newest[l] = offset
		}
		seen[source] = true
	}
}

// checkVerdicts checks every verdict against a brute-force comparison of all articles: a copy names an article of which
// it is one, of two copies that a look-up finds never both are held to be none, chains end in an article that is no
// copy.
func checkVerdicts(t testing.TB, recipe *pipeline.Recipe, search pipeline.Search, decode pipeline.DecodeConfig, windowMillis int64,
	inputs map[string]*kgo.Record, seen map[string]*outcome,
) (copies int) {
	t.Helper()
	type article struct {
		source string
		millis int64
		print  pipeline.Article
	}
	var all []article
	for source, in := range inputs {
		o := seen[source]
		doc, reject := decode.Decode(&pipeline.Record{Value: in.Value})
		var a pipeline.Article
		if reject == nil {
			a, _ = recipe.Fingerprint(doc.Text)
		}
		switch {
		case in.Value == nil:
			require.Equal(t, "unique", o.headers[pipeline.HeaderVerdict], source)
			continue
		case reject != nil || a.Empty:
			require.NotEmpty(t, o.headers[pipeline.HeaderReason], source)
			require.Empty(t, o.headers[pipeline.HeaderVerdict], source)
			continue
		}
		require.NotEmpty(t, o.headers[pipeline.HeaderVerdict], source)
		all = append(all, article{source, in.Timestamp.UnixMilli(), a})
	}
	isCopy := func(a, b *article) bool {
		if d := a.millis - b.millis; d > windowMillis || d < -windowMillis {
			return false
		}
		return search.Compare(&a.print, &b.print).Kind.IsCopy()
	}
	copyOf := map[string]bool{"near": true, "exact": true}
	for i := range all {
		a := &all[i]
		h := seen[a.source].headers
		neighbours := map[string]bool{}
		for j := range all {
			if i == j || !isCopy(a, &all[j]) {
				continue
			}
			neighbours[all[j].source] = true
			// Probes follow the weak bits of the one that looks, and either may be the later one.
			if search.Finds(&a.print, &all[j].print) && search.Finds(&all[j].print, &a.print) {
				one := copyOf[h[pipeline.HeaderVerdict]] || copyOf[seen[all[j].source].headers[pipeline.HeaderVerdict]]
				require.True(t, one, "%s and %s are copies of each other and neither is held to be one", a.source, all[j].source)
			}
		}
		if !copyOf[h[pipeline.HeaderVerdict]] {
			require.Equal(t, a.source, h[pipeline.HeaderRoot], a.source)
			continue
		}
		copies++
		require.True(t, neighbours[h[pipeline.HeaderOriginal]], "%s repeats %s, of which it is no copy", a.source, h[pipeline.HeaderOriginal])
		end := a.source
		for range len(all) {
			if !copyOf[seen[end].headers[pipeline.HeaderVerdict]] {
				break
			}
			end = seen[end].headers[pipeline.HeaderOriginal]
		}
		require.False(t, copyOf[seen[end].headers[pipeline.HeaderVerdict]], "the chain of %s has no end", a.source)
	}
	return copies
}
