package deploy_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"echosieve/test/promserver"

	"github.com/stretchr/testify/require"
)

const prometheusDir = "deploy/prometheus"

func TestPromtool(t *testing.T) {
	promtool := promserver.Tool(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"},
		{"check", "rules", "alerts.yml"},
		{"test", "rules", "alerts_test.yml"},
	} {
		t.Run(args[0]+" "+args[1], func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), promtool, args...)
			cmd.Dir = filepath.Join(promserver.Root(t), prometheusDir)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

type alertRule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []alertRule {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	require.NoError(t, yaml.Unmarshal(read(t, prometheusDir+"/alerts.yml"), &file))
	var rules []alertRule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	require.NotEmpty(t, rules)
	return rules
}

// Every alert has a description, a unit test in which it fires, and a section in the documentation.
func TestAlertsAreCompleteTestedAndDocumented(t *testing.T) {
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, prometheusDir+"/alerts_test.yml"), &tests))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.AlertRuleTest {
			if len(c.ExpAlerts) > 0 {
				fires[c.Alertname] = true
			} else {
				silent[c.Alertname] = true
			}
		}
	}
	operations := string(read(t, "docs/operations.md"))
	for _, a := range alerts(t) {
		t.Run(a.Alert, func(t *testing.T) {
			require.True(t, slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]))
			require.NotEmpty(t, a.Annotations["summary"])
			require.NotEmpty(t, a.Annotations["description"])
			require.True(t, fires[a.Alert], "no unit test in which it fires")
			require.True(t, silent[a.Alert], "no unit test in which it stays silent")
			require.Contains(t, operations, "`"+a.Alert+"`")
		})
	}
}
