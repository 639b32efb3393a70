package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/articles"
)

// Of two copies that both come through, one must have been lost when the other was decided.
func TestTwinsAroundARefill(t *testing.T) {
	const lost, between, later = "in/0/9", "in/0/10", "in/0/20"
	x := Excuses{Losses: []Loss{{Committed: map[int32]int64{0: 10}, Refilled: map[int32]int64{0: 20}}}}
	through := &ledger.Outcome{Headers: map[string]string{pipeline.HeaderVerdict: "unique"}}
	for _, c := range []struct {
		a, b  string
		twins int
	}{
		{"in/0/8", lost, 1},
		{lost, between, 0},
		{lost, later, 1},
		{between, "in/0/11", 1},
		{between, later, 1},
		{later, "in/1/0", 1}, // a partition that was added after the refill
	} {
		facts := map[string]articles.Fact{"a": {Family: "a"}, "b": {Family: "a", Role: articles.Exact}}
		inputs := map[string]*kgo.Record{c.a: {Key: []byte("a")}, c.b: {Key: []byte("b")}}
		seen := map[string]*ledger.Outcome{c.a: through, c.b: through}
		_, _, bad := x.relate(inputs, seen, facts)
		require.Len(t, bad, c.twins, "%s and %s", c.a, c.b)
		_, _, bad = Excuses{Forgotten: []string{c.a}}.relate(inputs, seen, facts)
		require.Empty(t, bad, "later articles are not copies of a forgotten one")
	}
}
