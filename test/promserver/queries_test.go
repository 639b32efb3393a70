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
