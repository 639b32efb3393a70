package load

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// standIn starts a shell that logs as a service does and ends with its standard input, beside an HTTP server
// for its pages.
func standIn(t *testing.T, warnings io.Writer) (p *Process, end io.Closer) {
	t.Helper()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1\n")
		}
	}))
	t.Cleanup(pages.Close)
	line := fmt.Sprintf(`{"level":"INFO","msg":"starting","http":%q}`, strings.TrimPrefix(pages.URL, "http://"))
	cmd := exec.Command("sh", "-c", `echo '`+line+`' >&2; cat; echo out of order >&2; exit 3`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	p, err = StartProcess(t.Context(), cmd, warnings)
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	require.Equal(t, pages.URL, p.URL)
	return p, in
}

// closeOn closes something at the first output with a text.
type closeOn struct {
	text string
	what io.Closer
}

func (c closeOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.text)) {
		_ = c.what.Close()
	}
	return len(p), nil
}

func TestServiceThatEndsEndsTheRun(t *testing.T) {
	p, end := standIn(t, io.Discard)
	setup := Setup{Process: p, Metrics: []string{p.URL + "/metrics"}, Progress: closeOn{"idle for", end}}
	_, err := Run(t.Context(), setup, Plan{Idle: time.Hour})
	require.EqualError(t, err, "load: the service ended: exit status 3: out of order")
}

func TestServiceThatCannotStart(t *testing.T) {
	var warnings bytes.Buffer
	_, err := StartProcess(t.Context(), exec.Command("sh", "-c", "echo no such broker >&2; exit 2"), &warnings)
	require.EqualError(t, err, "load: the service ended: exit status 2: no such broker")
	require.Equal(t, "service: no such broker\n", warnings.String())
}
