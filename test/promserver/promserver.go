// Package promserver starts a real Prometheus for tests and asks it what the shipped dashboard and alerts ask.
//
// It is test support: its functions end the test when something is missing, Prometheus itself included.
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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"echosieve/test/loopback"
)

const (
	startTimeout  = 90 * time.Second
	stopTimeout   = 10 * time.Second
	answerTimeout = 90 * time.Second // rates need two scrapes after the event that they count
	pollInterval  = 250 * time.Millisecond
)

// Prom is a running Prometheus. Its methods may be called concurrently.
type Prom struct {
	URL string // http://127.0.0.1:port
}

// Start runs a Prometheus on a free loopback port that scrapes /metrics of the targets ("host:port") every second
// under the job name echosieve, with the shipped alert rules loaded. It returns when Prometheus is ready; the
// targets need not be up yet. The process is stopped when the test ends.
func Start(t testing.TB, targets ...string) *Prom {
	t.Helper()
	binary := Tool(t, "prometheus")
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configFor(t, targets), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := loopback.Addr(loopback.Ports(t, 1)[0])
	// The test's context ends just before its cleanups run; then Prometheus is asked to stop, and killed if it does not.
	cmd := exec.CommandContext(t.Context(), binary,
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a stop by signal is an error to Wait, and the only one expected
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

// CheckQueries fails the test for each query that Prometheus does not answer with at least one number. It asks
// again for some time, since the first scrapes may still be under way. Zero is an answer; no series at all, or
// only NaN, is none.
func (p *Prom) CheckQueries(t testing.TB, queries []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	for query, why := range p.Unanswered(ctx, queries) {
		t.Errorf("no answer to %s\n%s", query, why)
	}
}

// Unanswered asks until all queries are answered or ctx ends, and returns those that are not, with the reason.
func (p *Prom) Unanswered(ctx context.Context, queries []string) map[string]string {
	open := make(map[string]string, len(queries))
	for _, q := range queries {
		open[q] = "never asked"
	}
	for {
		for q := range open {
			why := p.ask(ctx, q)
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

// ask evaluates one query now and returns what is wrong with the answer, or "".
func (p *Prom) ask(ctx context.Context, query string) string {
	body, err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(query))
	if err != nil {
		return err.Error()
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Sprintf("not an instant vector: %v: %s", err, body)
	}
	if len(answer.Data.Result) == 0 {
		return "no series"
	}
	for _, series := range answer.Data.Result {
		text, _ := series.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			return ""
		}
	}
	return "only NaN: nothing was observed"
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

func configFor(t testing.TB, targets []string) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n")
	fmt.Fprintf(&b, "rule_files: [%q]\n", filepath.Join(Root(t), alertsFile))
	b.WriteString("scrape_configs:\n  - job_name: echosieve\n    static_configs:\n      - targets:\n")
	for _, target := range targets {
		fmt.Fprintf(&b, "          - %q\n", target)
	}
	return []byte(b.String())
}
