package promserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// variable is a variable of a board that Grafana fills by a query.
type variable struct {
	Name, Type, Definition, AllValue string
	IncludeAll                       bool
}

// variables returns the query variables of the boards in the order in which Grafana fills them. All boards
// have the same ones.
func variables(t testing.TB) []variable {
	t.Helper()
	var first []variable
	for i, file := range Boards(t) {
		var board struct {
			Templating struct{ List []variable }
		}
		require.NoError(t, json.Unmarshal(readFile(t, file), &board), file)
		var queried []variable
		for _, v := range board.Templating.List {
			if v.Type == "query" {
				queried = append(queried, v)
			}
		}
		if i == 0 {
			first = queried
		} else if fmt.Sprint(queried) != fmt.Sprint(first) {
			t.Fatalf("%s has other variables: %v, not %v", file, queried, first)
		}
	}
	return first
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// Selected returns, by name, what Grafana writes for the boards' variables when "All" is selected in each:
// the variable's allValue, or, without one, a regular expression of the values that Prometheus knows.
// Selected waits until each variable of the second kind has a value.
func (p *Prom) Selected(t testing.TB) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	selected := map[string]string{}
	for _, v := range variables(t) {
		m := labelValues.FindStringSubmatch(v.Definition)
		if m == nil || !v.IncludeAll {
			t.Fatalf("variable %s is no label_values with All: %+v", v.Name, v)
		}
		values, err := p.labelValues(ctx, Substitute(m[1], selected), m[2])
		for err == nil && len(values) == 0 && v.AllValue == "" {
			select {
			case <-ctx.Done():
				t.Fatalf("variable %s has no value", v.Name)
			case <-time.After(pollInterval):
			}
			values, err = p.labelValues(ctx, Substitute(m[1], selected), m[2])
		}
		if err != nil {
			t.Fatalf("variable %s: %v", v.Name, err)
		}
		if selected[v.Name] = v.AllValue; v.AllValue == "" {
			selected[v.Name] = choice(values)
		}
	}
	return selected
}

// labelValues returns the values of a label in the series that match.
func (p *Prom) labelValues(ctx context.Context, match, label string) ([]string, error) {
	body, err := p.get(ctx, "/api/v1/label/"+label+"/values?match[]="+url.QueryEscape(match))
	if err != nil {
		return nil, err
	}
	var answer struct{ Data []string }
	err = json.Unmarshal(body, &answer)
	return answer.Data, err
}

// choice writes values as Grafana writes them into a PromQL string: each is escaped as a regular expression,
// then for the string.
func choice(values []string) string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = strings.ReplaceAll(regexp.QuoteMeta(v), `\`, `\\`)
	}
	if len(escaped) == 1 {
		return escaped[0]
	}
	return "(" + strings.Join(escaped, "|") + ")"
}
