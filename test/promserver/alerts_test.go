package promserver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"echosieve/test/host"
	"echosieve/test/promserver"

	"github.com/stretchr/testify/require"
)

const prometheusDir = "deploy/prometheus"

// unitTests are the files of unit tests of the alerts, in prometheusDir.
var unitTests = []string{"alerts_test.yml", "alerts_day_test.yml"}

func TestPromtool(t *testing.T) {
	promtool := promserver.Tool(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"},
		{"check", "rules", "alerts.yml"},
		append([]string{"test", "rules"}, unitTests...),
	} {
		t.Run(args[0]+" "+args[1], func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), promtool, args...)
			cmd.Dir = filepath.Join(host.Root(t), prometheusDir)
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
	require.NoError(t, yaml.Unmarshal([]byte(host.Read(t, prometheusDir+"/alerts.yml")), &file))
	var rules []alertRule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	require.NotEmpty(t, rules)
	return rules
}

// Every alert says what is wrong, links to the runbook, and the unit tests show that it fires and that it stays silent.
func TestAlertsAreCompleteAndTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, file := range unitTests {
		var tests struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string
					ExpAlerts []any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(host.Read(t, prometheusDir+"/"+file)), &tests))
		for _, test := range tests.Tests {
			for _, c := range test.AlertRuleTest {
				if len(c.ExpAlerts) > 0 {
					fires[c.Alertname] = true
				} else {
					silent[c.Alertname] = true
				}
			}
		}
	}
	for _, a := range alerts(t) {
		t.Run(a.Alert, func(t *testing.T) {
			require.True(t, slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]))
			require.NotEmpty(t, a.Annotations["summary"])
			require.NotEmpty(t, a.Annotations["description"])
			require.Equal(t, `{{ with $externalLabels.runbook }}{{ . }}{{ else }}http://`+
				`{{ with query "topk(1, up{job=\"echosieve\"} == 1)" }}{{ . | first | label "instance" }}`+
				`{{ else }}localhost:9464{{ end }}/docs/runbook.md{{ end }}#`+strings.ToLower(a.Alert),
				a.Annotations["runbook_url"])
			require.True(t, fires[a.Alert], "no unit test in which it fires")
			require.True(t, silent[a.Alert], "no unit test in which it stays silent")
		})
	}
}

// The runbook has one section for each alert, below the heading of its severity, and no other section. Each section
// says what the alert means, where to look, and what to do.
func TestRunbookHasASectionForEachAlert(t *testing.T) {
	severity := map[string]string{}
	for _, a := range alerts(t) {
		severity[a.Alert] = a.Labels["severity"]
	}
	sections := runbookSections(t)
	for alert, section := range sections {
		require.Equal(t, severity[alert], section.severity, alert)
		rest := section.text
		require.Regexp(t, `^\n\n[A-Z0-9]`, rest, "%s: what it means comes first", alert)
		for _, question := range []string{"\n- **See:** ", "\n- **Do:** "} {
			_, after, found := strings.Cut(rest, question)
			require.True(t, found, "%s: no %q, or not in this order", alert, question)
			rest = after
		}
	}
	require.Len(t, sections, len(severity), "alerts without a section")
}

// Each query that the runbook prints, in backquotes, can be pasted into Prometheus, and the service exposes the
// metrics that it names.
func TestQueriesOfTheRunbook(t *testing.T) {
	metrics := host.Read(t, "docs/metrics.md")
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, span := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(host.Read(t, "docs/runbook.md"),
		-1) {
		if !strings.Contains(span[1], "{") && !strings.Contains(span[1], "(") {
			continue
		}
		rules = append(rules, rule{fmt.Sprintf("query_%d", len(rules)), span[1]})
		for _, name := range regexp.MustCompile(`echosieve_\w+`).FindAllString(span[1], -1) {
			require.Contains(t, metrics, "- `"+name+"`", span[1])
		}
	}
	require.NotEmpty(t, rules)
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "runbook", "rules": rules}}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	out, err := exec.CommandContext(t.Context(), promserver.Tool(t, "promtool"), "check", "rules",
		path).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// runbookSection is what docs/runbook.md says about one alert.
type runbookSection struct {
	severity string // the heading above: critical, warning or info
	text     string
}

// runbookSections returns the sections of docs/runbook.md by their headings.
func runbookSections(t *testing.T) map[string]runbookSection {
	t.Helper()
	sections := map[string]runbookSection{}
	severity := ""
	for _, part := range strings.Split("\n"+host.Read(t, "docs/runbook.md"), "\n##")[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		alert, isAlert := strings.CutPrefix(heading, "# ")
		if !isAlert {
			severity = strings.ToLower(strings.TrimSpace(heading))
			continue
		}
		require.NotContains(t, sections, alert, "twice in the runbook")
		sections[alert] = runbookSection{severity: severity, text: "\n" + text}
	}
	return sections
}
