package promserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOperands(t *testing.T) {
	for _, c := range []struct {
		name, expr string
		want       []string
	}{
		{"comparison with a number", `up{job="x"} == 0`, []string{`up{job="x"}`}},
		{"set operator", "sum(a) > 0\nand\nsum(b) == 0\n", []string{"sum(a)", "sum(b)"}},
		{"set operator with labels", `a > 1 and on (job) b`, []string{"a", "b"}},
		{"two vectors", `rate(a[5m]) > 0.05 * rate(b[5m])`, []string{"rate(a[5m])", "0.05 * rate(b[5m])"}},
		{"operators inside parentheses stay", `sum(a > 0) / b >= 1e3`, []string{"sum(a > 0) / b"}},
		{"operators inside strings stay", `a{b="x > 1 or (y"} < 2`, []string{`a{b="x > 1 or (y"}`}},
		{"words that hold operators", `sand > 1 or order`, []string{"sand", "order"}},
		{"absent", `absent(up{job="x"})`, []string{`up{job="x"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, Operands(c.expr))
		})
	}
}

func TestSubstitute(t *testing.T) {
	require.Equal(t, `rate(a{job=~"x"}[10m] offset 1s) / max_over_time(b[5m:1s])`,
		Substitute(`rate(a{job=~"$job"}[$__rate_interval] offset 1d) / max_over_time(b[$__range:5m])`,
			map[string]string{"job": "x"}))
}

func TestSubstituteLeavesNoVariable(t *testing.T) {
	selected := map[string]string{}
	for _, v := range variables(t) {
		selected[v.Name] = ".*"
	}
	for _, expr := range BoardExprs(t) {
		require.NotContains(t, Substitute(expr, selected), "$")
	}
}

func TestEscape(t *testing.T) {
	require.Equal(t, `127\\.0\\.0\\.1:9464`, choice([]string{"127.0.0.1:9464"}))
	require.Equal(t, `(a|b\\+)`, choice([]string{"a", "b+"}))
}
