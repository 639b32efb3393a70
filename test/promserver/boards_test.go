package promserver_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/promserver"
)

// selectors are in every query: the variables select.
const selectors = `{cluster=~"$cluster", namespace=~"$namespace", job=~"$job", instance=~"$instance"`

type link struct {
	Title, URL  string
	IncludeVars bool
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ UID string }
	Links                    []link
	Targets                  []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
	FieldConfig json.RawMessage
}

type board struct {
	UID, Title string
	Links      []link
	Panels     []panel
	Templating struct {
		List []struct {
			Name     string
			AllValue *string
			Current  struct{ Value any }
		}
	}
	Annotations struct {
		List []struct {
			Name   string
			Target struct{ Expr string }
		}
	}
}

// boards returns the shipped boards by file name.
func boards(t *testing.T) map[string]board {
	t.Helper()
	all := map[string]board{}
	for _, file := range promserver.Boards(t) {
		var b board
		require.NoError(t, json.Unmarshal([]byte(host.Read(t, file)), &b))
		require.Greater(t, len(b.Panels), 20)
		all[filepath.Base(file)] = b
	}
	require.Len(t, all, 2)
	return all
}

func TestBoardPanels(t *testing.T) {
	for file, b := range boards(t) {
		ids := map[int]bool{}
		for _, p := range b.Panels {
			t.Run(file+"/"+p.Title, func(t *testing.T) {
				require.False(t, ids[p.ID], "panel ids are unique")
				ids[p.ID] = true
				require.NotEmpty(t, p.Title)
				if p.Type == "row" {
					return
				}
				require.NotEmpty(t, p.Description)
				require.Equal(t, "${datasource}", p.Datasource.UID)
				require.NotEmpty(t, p.Targets)
				refs := map[string]bool{}
				for _, target := range p.Targets {
					require.False(t, refs[target.RefID], "refIds are unique")
					refs[target.RefID] = true
					require.Equal(t, "${datasource}", target.Datasource.UID)
					requireSelected(t, target.Expr)
				}
				if p.Type == "timeseries" || p.Type == "stat" {
					var config struct{ Defaults struct{ Unit string } }
					require.NoError(t, json.Unmarshal(p.FieldConfig, &config))
					require.NotEmpty(t, config.Defaults.Unit)
				}
			})
		}
		for _, a := range b.Annotations.List {
			requireSelected(t, a.Target.Expr)
		}
	}
}

var metricName = regexp.MustCompile(`\b(echosieve|go|process)_[a-z_]+`)

// requireSelected fails unless each metric in the query is limited to what the board's variables select.
func requireSelected(t *testing.T, expr string) {
	t.Helper()
	metrics := metricName.FindAllStringIndex(expr, -1)
	require.NotEmpty(t, metrics, expr)
	for _, at := range metrics {
		require.True(t, strings.HasPrefix(expr[at[1]:], selectors), "%s in %s", expr[at[0]:at[1]], expr)
	}
}

// A possible copy is an article: a share that leaves it out of the denominator is too high.
func TestSharesCountEveryArticle(t *testing.T) {
	for _, expr := range append(promserver.BoardExprs(t), promserver.AlertExprs(t)...) {
		if strings.Contains(expr, "unique") {
			require.NotContains(t, strings.ReplaceAll(expr, "unique|possible|near|exact", ""), "unique", expr)
		}
	}
}

// Links lead to sections of the runbook and to the other board, and each alert is linked from the panel that shows it.
func TestBoardLinks(t *testing.T) {
	anchors := map[string]string{}
	for alert := range runbookSections(t) {
		anchors["${runbook}#"+strings.ToLower(alert)] = alert
	}
	uids, linked := map[string]bool{}, map[string]bool{}
	for _, b := range boards(t) {
		uids["/d/"+b.UID] = true
	}
	for file, b := range boards(t) {
		require.Len(t, b.Links, 2, file)
		require.True(t, uids[b.Links[0].URL] && b.Links[0].URL != "/d/"+b.UID && b.Links[0].IncludeVars,
			"%s links to the other board", file)
		require.Equal(t, "${runbook}", b.Links[1].URL)
		for _, p := range b.Panels {
			for _, l := range p.Links {
				alert := anchors[l.URL]
				require.NotEmpty(t, alert, "%s: %s links to %s", file, p.Title, l.URL)
				require.Equal(t, "Runbook: "+alert, l.Title)
				linked[alert] = true
			}
		}
	}
	for _, alert := range anchors {
		require.True(t, linked[alert], "no panel links to %s", alert)
	}
}

// A panel that is named in the runbook is on a board.
func TestRunbookNamesPanelsOfTheBoards(t *testing.T) {
	titles := map[string]bool{"Panels": true, "Targets": true} // the runbook's explanation, and a page of Prometheus
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			titles[p.Title] = true
		}
		for _, a := range b.Annotations.List {
			titles[a.Name] = true
		}
	}
	named := regexp.MustCompile(`[^*]\*([A-Z][^*]+)\*[^*]`).FindAllStringSubmatch(host.Read(t, "docs/runbook.md"),
		-1)
	require.Greater(t, len(named), 15)
	for _, n := range named {
		require.True(t, titles[n[1]], "no panel %q", n[1])
	}
}
