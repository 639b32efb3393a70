package otlp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"echosieve/test/otlpreceiver"
)

// exporter returns an exporter with these variables, a function that returns a count of spans, and the log.
func exporter(t *testing.T, env map[string]string) (*Exporter, func(outcome string) float64, *bytes.Buffer) {
	t.Helper()
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "60000") // ms
	for name, value := range env {
		t.Setenv(name, value)
	}
	reg, log := prometheus.NewRegistry(), new(bytes.Buffer)
	e, err := New("v1", reg, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e, func(outcome string) float64 {
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, m := range families[0].GetMetric() {
			if m.GetLabel()[0].GetValue() == outcome {
				return m.GetCounter().GetValue()
			}
		}
		return -1
	}, log
}

// closeWhenSent closes an exporter like Close, but a slow machine has the time to send its spans.
func closeWhenSent(e *Exporter) { e.closeWithin(time.Minute) }

func TestOff(t *testing.T) {
	for _, env := range []map[string]string{
		{"OTEL_SERVICE_NAME": "x"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "true"},
	} {
		t.Run("", func(t *testing.T) {
			e, _, log := exporter(t, env)
			require.Nil(t, e.Tracer())
			require.Empty(t, log.String())
		})
	}
}

// A mistake is logged with the name of its variable, and nothing is traced. A password in a variable is not logged.
func TestMistakes(t *testing.T) {
	const password = "hunter2"
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER":           "zipkin",
		"OTEL_EXPORTER_OTLP_PROTOCOL":    "grpc",
		"OTEL_EXPORTER_OTLP_ENDPOINT":    "me:" + password + "@collector",
		"OTEL_EXPORTER_OTLP_HEADERS":     "authorization " + password,
		"OTEL_BSP_MAX_QUEUE_SIZE":        "-1",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			e, _, log := exporter(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "",
				"OTEL_EXPORTER_OTLP_ENDPOINT": "https://localhost:1", name: value})
			require.Nil(t, e.Tracer())
			require.Contains(t, log.String(), "nothing is traced")
			require.Contains(t, log.String(), name)
			require.NotContains(t, log.String(), password)
		})
	}
}

func TestSpansArrive(t *testing.T) {
	receiver := otlpreceiver.Start(t)
	receiver.Answer = func(r *http.Request) int {
		require.Equal(t, []string{"/v1/traces", "Bearer x", "a"},
			[]string{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Tenant")})
		return http.StatusOK
	}
	e, count, _ := exporter(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL,
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, tenant=a", "OTEL_SERVICE_NAME": "sieve-7"})
	links := make([]trace.Link, 300)
	for i := range links {
		links[i].SpanContext = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1},
			SpanID: trace.SpanID{byte(i), byte(i >> 8), 1}})
	}
	_, span := e.Tracer().Start(t.Context(), "batch", trace.WithLinks(links...))
	span.End()
	closeWhenSent(e)
	require.Len(t, receiver.Spans(), 1)
	require.Len(t, receiver.Spans()[0].GetLinks(), len(links), "a batch may have more links than the default limit")
	require.Equal(t, "sieve-7", receiver.Resource()["service.name"])
	require.Equal(t, "v1", receiver.Resource()["service.version"])
	require.InDelta(t, 1, count(exported), 0)
}

// A receiver that never answers holds back nobody: spans that find no room are dropped at once, and counted. Close
// gives up in time.
func TestReceiverThatHangs(t *testing.T) {
	receiver, over := otlpreceiver.Start(t), make(chan struct{})
	t.Cleanup(func() { close(over) }) // before the receiver ends, which waits for requests
	receiver.Answer = func(*http.Request) int {
		<-over
		return http.StatusOK
	}
	e, count, _ := exporter(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL, "OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_SCHEDULE_DELAY": "1",
		"OTEL_BSP_EXPORT_TIMEOUT": "3600000", "OTEL_EXPORTER_OTLP_TIMEOUT": "3600000",
	})
	for range 1000 {
		_, span := e.Tracer().Start(context.Background(), "batch")
		span.End()
	}
	require.InDelta(t, 990, count(dropped), 0)
	e.Close() // the export alone would give up after an hour
	require.Zero(t, count(exported))
}

// The headers of the settings go to the receiver of the settings only, whatever it answers.
func TestHeadersFollowNoRedirect(t *testing.T) {
	var strangers atomic.Int32
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	t.Cleanup(stranger.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "s3cret", r.Header.Get("X-Key"))
			http.Redirect(w, r, stranger.URL, status)
		}))
		t.Cleanup(receiver.Close)
		e, count, log := exporter(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL,
			"OTEL_EXPORTER_OTLP_HEADERS": "X-Key=s3cret"})
		_, span := e.Tracer().Start(t.Context(), "x")
		span.End()
		closeWhenSent(e)
		require.EqualValues(t, 1, count(failed))
		require.Contains(t, log.String(), http.StatusText(status))
	}
	require.Zero(t, strangers.Load())
}
