package promserver

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	alertsFile = "deploy/prometheus/alerts.yml"
	boardsDir  = "deploy/grafana/dashboards"
)

// Queries returns every query of the shipped boards and alerts in a form that has a result for a healthy
// service. In the boards, "All" is selected for each variable. Of a comparison both sides are returned instead: an
// alert that does not fire has no result.
func Queries(t testing.TB) []string {
	t.Helper()
	selected, queries := variables(t)
	for _, expr := range BoardExprs(t) {
		queries = append(queries, Operands(Substitute(expr, selected))...)
	}
	for _, expr := range AlertExprs(t) {
		queries = append(queries, Operands(Substitute(expr, nil))...)
	}
	slices.Sort(queries)
	return slices.Compact(queries)
}

var labelValues = regexp.MustCompile(`^label_values\((.+), \w+\)$`)

// variables returns, by name, what selects everything in each variable that Grafana fills by a query, and the series
// whose labels are the values.
func variables(t testing.TB) (selected map[string]string, series []string) {
	t.Helper()
	selected = map[string]string{}
	for _, file := range Boards(t) {
		var board struct {
			Templating struct {
				List []struct {
					Name, Type, Definition, AllValue string
					IncludeAll                       bool
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(host.Read(t, file)), &board), file)
		for _, v := range board.Templating.List {
			if v.Type != "query" {
				continue
			}
			of := labelValues.FindStringSubmatch(v.Definition)
			require.True(t, of != nil && v.IncludeAll, "variable %s is no label_values with All", v.Name)
			series = append(series, Substitute(of[1], selected))
			selected[v.Name] = cmp.Or(v.AllValue, ".*")
		}
	}
	return selected, series
}

// Boards returns the files of the shipped boards, relative to Root.
func Boards(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(host.Root(t), boardsDir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i := range files {
		files[i] = filepath.Join(boardsDir, filepath.Base(files[i]))
	}
	return files
}

// BoardExprs returns the expressions of all panels and annotations of all boards, unchanged.
func BoardExprs(t testing.TB) []string {
	t.Helper()
	var exprs []string
	for _, file := range Boards(t) {
		var board any
		require.NoError(t, json.Unmarshal([]byte(host.Read(t, file)), &board), file)
		before := len(exprs)
		collect(board, &exprs)
		require.Greater(t, len(exprs), before, "%s holds no expression", file)
	}
	return exprs
}

// collect appends the values of all keys "expr" below v.
func collect(v any, exprs *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if expr, ok := child.(string); ok && key == "expr" {
				*exprs = append(*exprs, expr)
				continue
			}
			collect(child, exprs)
		}
	case []any:
		for _, child := range v {
			collect(child, exprs)
		}
	}
}

// AlertExprs returns the expressions of all alerts, unchanged.
func AlertExprs(t testing.TB) []string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(host.Read(t, alertsFile)), &file), alertsFile)
	var exprs []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			exprs = append(exprs, rule.Expr)
		}
	}
	require.NotEmpty(t, exprs)
	return exprs
}

var (
	// Prometheus runs for seconds in a test. A query that looks a day back, or evaluates every five minutes,
	// would have no result.
	offset     = regexp.MustCompile(`\boffset [0-9a-z]+`)
	resolution = regexp.MustCompile(`:[0-9a-z]+\]`)
)

// Substitute replaces Grafana's intervals by intervals that are longer than a short test, and the variables
// of a board by their values in selected. Offsets and the resolutions of subqueries become one second.
func Substitute(expr string, selected map[string]string) string {
	replace := []string{"$__rate_interval", "10m", "$__interval", "15s", "$__range", "5m"}
	for name, value := range selected {
		replace = append(replace, "$"+name, value)
	}
	expr = strings.NewReplacer(replace...).Replace(expr)
	return resolution.ReplaceAllString(offset.ReplaceAllString(expr, "offset 1s"), ":1s]")
}

var (
	// operator separates the operands of an expression. Operands ignores those in parentheses.
	operator = regexp.MustCompile(`^(\b(and|or|unless)\b(\s*(on|ignoring)\s*\([^)]*\))?|==|!=|>=|<=|>|<)`)
	number   = regexp.MustCompile(`^[-+0-9.e]+$`)
	absent   = regexp.MustCompile(`^absent\((.*)\)$`)
)

// Operands returns the sides of an expression's comparisons and set operators, without constants. Of
// absent(x) it returns x. Example: of "rate(a[1m]) > 5 and b" it returns "rate(a[1m])" and "b".
func Operands(expr string) []string {
	var operands []string
	add := func(part string) {
		part = strings.TrimSpace(part)
		if m := absent.FindStringSubmatch(part); m != nil {
			part = m[1]
		}
		if part != "" && !number.MatchString(part) {
			operands = append(operands, part)
		}
	}
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(expr); {
		switch c := expr[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ')' || c == '}' || c == ']':
			depth--
		case depth == 0 && (i == 0 || !isWord(expr[i-1]) || !isWord(c)):
			if op := operator.FindString(expr[i:]); op != "" {
				add(expr[start:i])
				i += len(op)
				start = i
				continue
			}
		}
		i++
	}
	add(expr[start:])
	return operands
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
