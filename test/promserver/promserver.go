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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/test/loopback"
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
	addr := loopback.Addr(loopback.Ports(t, 1)[0])
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, configFor(t, addr, targets), 0o600))
	// The context of the test ends just before its cleanups run. Prometheus then gets a SIGTERM, and a
	// SIGKILL if it does not end.
	cmd := exec.CommandContext(t.Context(), binary,
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start(), binary)
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the error says that a signal ended it
		close(exited)
	}()
	t.Cleanup(func() {
		<-exited
		if t.Failed() {
			t.Logf("prometheus log:\n%s", log.String())
		}
	})

	p := &Prom{URL: "http://" + addr}
	deadline := time.Now().Add(startTimeout)
	for {
		select {
		case <-exited:
			t.Fatalf("prometheus exited:\n%s", log.String())
		case <-time.After(pollInterval):
		}
		if _, err := p.get(t.Context(), "/-/ready"); err == nil {
			return p
		} else if time.Now().After(deadline) {
			t.Fatalf("prometheus was not ready after %v: %v", startTimeout, err)
		}
	}
}

// CheckQueries fails the test for each query that has no result within answerTimeout. It repeats the queries,
// because the first scrapes may still be under way. A result is at least one number; zero is a number, NaN is
// not.
func (p *Prom) CheckQueries(t testing.TB, queries []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	for query, why := range p.unanswered(ctx, queries) {
		t.Errorf("no result of %s\n%s", query, why)
	}
}

// unanswered repeats the queries until each has a result or ctx ends. It returns the queries without a
// result, with the reason.
func (p *Prom) unanswered(ctx context.Context, queries []string) map[string]string {
	open := make(map[string]string, len(queries))
	for _, q := range queries {
		open[q] = "never evaluated"
	}
	for {
		for q := range open {
			why := p.Problem(ctx, q)
			if ctx.Err() != nil {
				return open
			}
			if open[q] = why; why == "" {
				delete(open, q)
			}
		}
		if len(open) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return open
		case <-time.After(pollInterval):
		}
	}
}

// Problem evaluates a query once. It returns why there is no result (see CheckQueries), or "" if there is one.
func (p *Prom) Problem(ctx context.Context, query string) string {
	answer, err := p.query(ctx, query)
	if err != nil {
		return err.Error()
	}
	if len(answer) == 0 {
		return "no series"
	}
	if slices.ContainsFunc(answer, func(v float64) bool { return !math.IsNaN(v) }) {
		return ""
	}
	return "only NaN: nothing was observed"
}

// query returns the numbers of a query that is an instant vector.
func (p *Prom) query(ctx context.Context, query string) ([]float64, error) {
	body, err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("not an instant vector: %w: %s", err, body)
	}
	vector := make([]float64, len(answer.Data.Result))
	for i, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("not a number: %w: %s", err, body)
		}
		vector[i] = v
	}
	return vector, nil
}

func (p *Prom) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Status, body.String())
	}
	return body.Bytes(), nil
}

// Tool returns the path of a program of the Prometheus package, or ends the test with the command that installs it.
func Tool(t testing.TB, name string) string {
	t.Helper()
	loopback.SkipShort(t)
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
	fmt.Fprintf(&b, "rule_files: [%q]\n", filepath.Join(Root(t), alertsFile))
	fmt.Fprintf(&b, "scrape_configs:\n  - job_name: prometheus\n    static_configs: [{targets: [%q]}]\n", self)
	b.WriteString("  - job_name: echosieve\n    static_configs:\n      - labels: {namespace: news}\n        targets:\n")
	for _, target := range targets {
		fmt.Fprintf(&b, "          - %q\n", target)
	}
	return []byte(b.String())
}
