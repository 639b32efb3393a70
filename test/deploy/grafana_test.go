package deploy_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"echosieve/test/promserver"

	"github.com/stretchr/testify/require"
)

const grafanaDir = "deploy/grafana"

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ UID string }
	Targets                  []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
	FieldConfig struct{ Defaults struct{ Unit string } }
}

type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct{ List []struct{ Name string } }
}

func loadDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	require.NoError(t, json.Unmarshal(read(t, grafanaDir+"/dashboards/echosieve.json"), &d))
	require.NotEmpty(t, d.UID)
	require.Greater(t, len(d.Panels), 20)
	return d
}

func TestDashboardPanels(t *testing.T) {
	ids := map[int]bool{}
	for _, p := range loadDashboard(t).Panels {
		t.Run(p.Title, func(t *testing.T) {
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
				require.NotEmpty(t, target.Expr)
				require.False(t, refs[target.RefID], "refIds are unique")
				refs[target.RefID] = true
				require.Equal(t, "${datasource}", target.Datasource.UID)
				require.Contains(t, target.Expr, `job=~"$job", instance=~"$instance"`, "the variables select")
			}
			if p.Type == "timeseries" || p.Type == "stat" {
				require.NotEmpty(t, p.FieldConfig.Defaults.Unit)
			}
		})
	}
}

// The panels fill the 24 columns and do not overlap.
func TestDashboardLayout(t *testing.T) {
	taken := map[[2]int]string{}
	height := 0
	for _, p := range loadDashboard(t).Panels {
		g := p.GridPos
		require.Positive(t, g.W, p.Title)
		require.LessOrEqual(t, g.X+g.W, 24, p.Title)
		height = max(height, g.Y+g.H)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "under %s", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	require.Len(t, taken, 24*height, "no holes")
}

func TestDashboardVariables(t *testing.T) {
	var names []string
	for _, v := range loadDashboard(t).Templating.List {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"datasource", "job", "instance"}, names)
}

// The files that provisioning names exist at the paths where the compose file mounts them.
func TestGrafanaProvisioning(t *testing.T) {
	c := compose(t)
	mounts := map[string]string{} // path in the container -> path in the repository
	for _, v := range c.Services["grafana"].Volumes {
		if parts := strings.Split(v, ":"); strings.HasPrefix(parts[0], ".") {
			mounts[parts[1]] = parts[0]
		}
	}

	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal(read(t, grafanaDir+"/provisioning/dashboards/echosieve.yml"), &providers))
	require.Len(t, providers.Providers, 1)
	path := providers.Providers[0].Options.Path
	require.Contains(t, mounts, path)
	home := c.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.Equal(t, path, filepath.Dir(home))
	require.FileExists(t, filepath.Join(promserver.Root(t), mounts[path], filepath.Base(home)))

	var sources struct {
		Datasources []struct {
			Type, URL string
			JSONData  struct {
				TimeInterval string `yaml:"timeInterval"`
			} `yaml:"jsonData"`
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, grafanaDir+"/provisioning/datasources/prometheus.yml"), &sources))
	require.Len(t, sources.Datasources, 1)
	require.Equal(t, "prometheus", sources.Datasources[0].Type)
	host, _, _ := strings.Cut(strings.TrimPrefix(sources.Datasources[0].URL, "http://"), ":")
	require.Contains(t, c.Services, host)

	var scrape struct {
		Global struct {
			Interval string `yaml:"scrape_interval"`
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, prometheusDir+"/prometheus.yml"), &scrape))
	require.Equal(t, scrape.Global.Interval, sources.Datasources[0].JSONData.TimeInterval)
}
