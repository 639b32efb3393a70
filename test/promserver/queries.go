package promserver

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const alertsFile = "deploy/prometheus/alerts.yml"

var (
	labelValues = regexp.MustCompile(`^label_values\((.+), \w+\)$`)
	variable    = regexp.MustCompile(`\$\w+`)
	// Prometheus runs for seconds in a test. A query that looks a day back, or evaluates every five minutes,
	// would have no result.
	offset     = regexp.MustCompile(`\boffset [0-9a-z]+`)
	resolution = regexp.MustCompile(`:[0-9a-z]+\]`)
	// An alert that does not fire has no result.
	comparison = regexp.MustCompile(`(\s)(==|!=|>=|<=|>|<)\s`)
	setOf      = regexp.MustCompile(`(\s)(or|unless)\s`)
)

// Queries returns every query of the shipped boards and alerts in a form that has a result for a healthy service, and
// the series whose labels are the values of variables. Intervals of Grafana are longer than a short test, and its
// variables select everything. Comparisons have the result 0 or 1, each side of "or" and "unless" must be there, and
// so must be what is absent when an alert fires.
func Queries(t testing.TB) []string {
	t.Helper()
	queries := append(BoardExprs(t), AlertExprs(t)...)
	for _, definition := range values(t, "definition", Boards(t)...) {
		of := labelValues.FindStringSubmatch(definition)
		require.NotNil(t, of, "%s is no label_values", definition)
		queries = append(queries, of[1])
	}
	known := strings.NewReplacer("$__rate_interval", "10m", "$__interval", "15s", "$__range", "5m", "absent(", "(")
	for i, q := range queries {
		q = variable.ReplaceAllString(known.Replace(q), ".*")
		q = resolution.ReplaceAllString(offset.ReplaceAllString(q, "offset 1s"), ":1s]")
		queries[i] = setOf.ReplaceAllString(comparison.ReplaceAllString(q, "$1$2 bool "), "${1}and on() ")
	}
	slices.Sort(queries)
	return slices.Compact(queries)
}

// Boards returns the files of the shipped boards, relative to Root.
func Boards(t testing.TB) []string {
	t.Helper()
	return host.Files(t, "deploy/grafana/dashboards/*.json")
}

// BoardExprs returns the expressions of all panels and annotations of all boards, unchanged.
func BoardExprs(t testing.TB) []string { return values(t, "expr", Boards(t)...) }

// AlertExprs returns the expressions of all alerts, unchanged.
func AlertExprs(t testing.TB) []string { return values(t, "expr", alertsFile) }

// values returns the texts that stand in files under a key, however deep.
func values(t testing.TB, key string, files ...string) (found []string) {
	t.Helper()
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if text, is := member.(string); is && name == key {
					found = append(found, text)
				}
				collect(member)
			}
		case []any:
			for _, element := range v {
				collect(element)
			}
		}
	}
	for _, file := range files {
		var content any
		require.NoError(t, yaml.Unmarshal([]byte(host.Read(t, file)), &content), file) // JSON is YAML
		before := len(found)
		collect(content)
		require.Greater(t, len(found), before, file)
	}
	return found
}
