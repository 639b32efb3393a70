// Package promserver starts a real Prometheus for tests and evaluates the queries of the shipped boards and
// alerts. Its functions end the test when something is missing, Prometheus itself included.
package promserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
)

const (
	startTimeout  = 4 * time.Minute
	stopTimeout   = time.Minute
	answerTimeout = 4 * time.Minute // rates need two scrapes after the event that they count
	pollInterval  = 250 * time.Millisecond
)

// Prom is a running Prometheus. Its methods may be called concurrently.
type Prom struct {
	URL string // http://127.0.0.1:port
}

// Start runs a Prometheus on a free loopback port. It scrapes /metrics of the targets ("host:port") every
// second under the job name echosieve and with the label namespace, but not cluster, as on a single cluster.
// It scrapes itself under the job name prometheus, and evaluates the shipped alert rules. Start returns when
// Prometheus is ready; the targets may start later. Prometheus ends with the test.
func Start(t testing.TB, targets ...string) *Prom {
	t.Helper()
	binary := Tool(t, "prometheus")
	dir := t.TempDir()
	addr := host.Addr(host.Ports(t, 1)[0])
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, configFor(t, addr, targets), 0o600))
	cmd := exec.Command(binary, // ended by Stop, not by a context
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	server, err := child.Start(cmd)
	require.NoError(t, err, binary)
	t.Cleanup(func() {
		server.Stop(stopTimeout)
		if t.Failed() {
			t.Logf("prometheus log:\n%s", log.String())
		}
	})
	p := &Prom{URL: "http://" + addr}
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(pollInterval) {
		if _, err := p.get(t.Context(), "/-/ready"); err == nil {
			return p
		}
		if server.Ended() || time.Now().After(deadline) {
			t.Fatal("prometheus is not ready")
		}
	}
}

// CheckQueries fails the test for each query that has no result within answerTimeout. It repeats a query, because the
// first scrapes may still be under way. A result is at least one number; zero is a number, NaN is not.
func (p *Prom) CheckQueries(t testing.TB, queries []string) {
	t.Helper()
	end := time.Now().Add(answerTimeout)
	for _, q := range queries {
		for {
			answer, err := p.query(t.Context(), q)
			if slices.ContainsFunc(answer, func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) }) {
				break
			}
			if time.Now().After(end) {
				t.Errorf("no result of %s: %v %v", q, answer, err)
				break
			}
			time.Sleep(pollInterval)
		}
	}
}

// query returns the result of a query that is an instant vector.
func (p *Prom) query(ctx context.Context, query string) (model.Vector, error) {
	body, err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	var answer struct{ Data struct{ Result model.Vector } }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("not an instant vector: %w: %s", err, body)
	}
	return answer.Data.Result, nil
}

func (p *Prom) get(ctx context.Context, path string) ([]byte, error) {
	status, body, err := host.Get(ctx, p.URL+path, answerTimeout)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, body)
	}
	return body, err
}

// Tool returns the path of a program of the Prometheus package, or ends the test with the command that installs it.
func Tool(t testing.TB, name string) string {
	t.Helper()
	host.SkipShort(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing; run: .ci/setup test", name)
	}
	return path
}

func configFor(t testing.TB, self string, targets []string) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n")
	fmt.Fprintf(&b, "rule_files: [%q]\n", filepath.Join(host.Root(t), alertsFile))
	fmt.Fprintf(&b, "scrape_configs:\n  - job_name: prometheus\n    static_configs: [{targets: [%q]}]\n", self)
	b.WriteString("  - job_name: echosieve\n    static_configs:\n      - labels: {namespace: news}\n        targets:\n")
	for _, target := range targets {
		fmt.Fprintf(&b, "          - %q\n", target)
	}
	return []byte(b.String())
}
