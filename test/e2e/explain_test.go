package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// explanation is the part of explain --json that the test compares with the headers.
type explanation struct {
	Output, Verdict, Reason string
	Distance                int
	Article                 struct{ ID, Record string }
	Chain                   []struct{ Record, Verdict, Gone string }
	Comparison              *struct{ Verdict string }
	Texts                   []struct{ Same bool }
	Candidates              []struct{ Record, Why string }
	Notes                   []string
}

// tool runs a command that must succeed, and returns what it prints.
func tool(t *testing.T, c cluster, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), service.Binary, args...)
	cmd.Env = c.settings().Environ()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Run(), "%s: %s", args, errOut.String())
	return out.Bytes()
}

// TestExplainAndDiff explains verdicts of a service on real servers: the explanation of an output, and of its input record, says what the
// headers say, and leads to the root.
func TestExplainAndDiff(t *testing.T) {
	c := newCluster(t, kafkaserver.Start(t, kafkaserver.V4).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings())
	p.WaitReady(t)
	records := fresh(articles(t))
	publish(t, c, records)
	outputs := watch(t, c, len(records), func(int) {})
	stop(t, p)

	explain := func(args ...string) (x explanation) {
		require.NoError(t, json.Unmarshal(tool(t, c, append([]string{"explain", "--json"}, args...)...), &x))
		return x
	}
	const each = 3 // explained outputs of a verdict; each takes a second
	explained := map[string]int{}
	longest := 0
	for _, o := range outputs {
		h := ledger.Headers(o)
		sort := h[pipeline.HeaderVerdict]
		if h[pipeline.HeaderOriginal] != h[pipeline.HeaderRoot] && sort == "near" {
			sort = "chain"
		}
		if explained[sort] == each || o.Value == nil {
			continue
		}
		explained[sort]++
		at, source := ledger.Coordinates(o), h[pipeline.HeaderInput]
		x := explain(at)
		require.Equal(t, x, explain(source), "%s of %s", at, source)
		require.Equal(t, at, x.Output)
		require.Equal(t, source, x.Article.Record)
		if sort == "" {
			require.Equal(t, "dead", x.Verdict)
			require.Equal(t, h[pipeline.HeaderReason], x.Reason)
			continue
		}
		require.Equal(t, h[pipeline.HeaderVerdict], x.Verdict)
		require.Equal(t, h[pipeline.HeaderReason], x.Reason)
		if sort == "unique" {
			require.Empty(t, x.Chain)
			continue
		}
		require.Empty(t, x.Notes, at)
		require.Equal(t, h[pipeline.HeaderOriginal], x.Chain[0].Record)
		require.Equal(t, h[pipeline.HeaderVerdict], x.Comparison.Verdict, at)
		require.NotEmpty(t, x.Texts)
		last := x.Chain[len(x.Chain)-1]
		if sort != "possible" {
			require.Equal(t, h[pipeline.HeaderRoot], last.Record)
			require.Contains(t, []string{"unique", "possible"}, last.Verdict)
		}
		longest = max(longest, len(x.Chain))
	}
	t.Log("explained", explained, "longest chain", longest)
	for _, sort := range []string{"unique", "near", "exact", ""} {
		require.Positive(t, explained[sort], sort)
	}

	service := strings.Join([]string{c.topic + "-unique", c.topic + "-duplicate", c.topic + "-dead"}, ",")
	page := filepath.Join(t.TempDir(), "diff.html")
	var same struct{ Both, Agree int }
	require.NoError(t, json.Unmarshal(tool(t, c, "diff", "--json", "--html", page, service, service), &same))
	require.Equal(t, len(records), same.Both)
	require.Equal(t, len(records), same.Agree)
	require.FileExists(t, page)

	// Retention removes the input topic. Outputs still have the texts of the articles, and the index what it knows of the originals.
	admin := kadm.NewClient(client(t, kgo.SeedBrokers(c.kafka)))
	ends, err := admin.ListEndOffsets(t.Context(), c.topic)
	require.NoError(t, err)
	_, err = admin.DeleteRecords(t.Context(), ends.Offsets())
	require.NoError(t, err)
	near := slices.DeleteFunc(slices.Clone(outputs), func(o *kgo.Record) bool { return ledger.Headers(o)[pipeline.HeaderVerdict] != "near" })
	distance := func(o *kgo.Record) int {
		d, err := strconv.Atoi(ledger.Headers(o)[pipeline.HeaderDistance])
		require.NoError(t, err)
		return d
	}
	slices.SortFunc(near, func(a, b *kgo.Record) int { return distance(a) - distance(b) })
	// The index finds an original by look-ups, so it can miss one that is far away and was found when fewer articles were there.
	compared := 0
	for _, o := range append(near[:2:2], near[len(near)-6:]...) {
		x := explain(ledger.Coordinates(o))
		require.Contains(t, x.Chain[0].Gone, "no record is kept at this offset")
		require.Equal(t, ledger.Headers(o)[pipeline.HeaderRoot], x.Chain[len(x.Chain)-1].Record)
		if x.Comparison != nil {
			compared++
			require.Equal(t, "near", x.Comparison.Verdict, "by the signature in the index")
		}
	}
	require.Positive(t, compared)
}
