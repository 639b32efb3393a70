// Package otlp sends the spans of package telemetry to a collector, as the standard variables of OpenTelemetry
// (OTEL_...) say. It never makes the service wait: spans wait in a bounded queue, and are dropped and counted
// while it is full.
package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"echosieve/internal/telemetry"
)

// closeTimeout bounds Close: spans that are not sent by then are lost.
const closeTimeout = 2 * time.Second

// Exporter makes spans and sends them away.
type Exporter struct {
	provider *sdk.TracerProvider // nil: the environment asks for no traces
}

// New reads the environment. If it asks for no traces, the Exporter makes no spans. If it has mistakes, New
// logs them and makes no spans, either: the variables are shared with other programs, so a mistake in them
// must not keep the service from starting. version is the version of this program. New fails if reg has a
// metric of this name already. It sets OpenTelemetry's handler of errors for the whole process.
func New(version string, reg prometheus.Registerer, log *slog.Logger) (*Exporter, error) {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "echosieve_tracing_spans_total",
		Help: "Trace spans by outcome: exported, failed (refused by the receiver), dropped (too many were queued).",
	}, []string{"outcome"})
	if err := reg.Register(outcomes); err != nil {
		return nil, fmt.Errorf("tracing: metrics: %w", err)
	}
	for _, o := range []string{exported, failed, dropped} {
		outcomes.WithLabelValues(o)
	}
	e := &Exporter{}
	on, err := enabled()
	if err == nil && on {
		e.provider, err = newProvider(version, outcomes, log)
	}
	if err != nil {
		log.Warn("nothing is traced, because variables of OpenTelemetry have mistakes", "err", err)
	}
	return e, nil
}

func newProvider(version string, outcomes *prometheus.CounterVec, log *slog.Logger) (*sdk.TracerProvider, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	c, err := newClient(s, outcomes, log)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry reports", "err", err) }))
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "echosieve"),
			attribute.String("service.version", version)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv()) // the last one wins: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	receiver, err := otlptrace.New(context.Background(), c)
	if err != nil {
		return nil, err
	}
	q := queue{sdk.NewBatchSpanProcessor(receiver, sdk.WithMaxQueueSize(s.queue)), c}
	limits := sdk.NewSpanLimits()
	if os.Getenv("OTEL_LINK_COUNT_LIMIT") == "" {
		limits.LinkCountLimit = -1 // the default is 128; a batch has one link a record at most
	}
	log.Info("traces are sent", "endpoint", s.endpoint.Redacted())
	return sdk.NewTracerProvider(sdk.WithSpanProcessor(q), sdk.WithResource(about), sdk.WithRawSpanLimits(limits)), nil
}

// Tracer begins the traces; nil if the environment asks for no traces.
func (e *Exporter) Tracer() trace.Tracer {
	if e.provider == nil {
		return nil
	}
	return e.provider.Tracer(telemetry.Scope)
}

// Close sends the spans that wait, for closeTimeout at most.
func (e *Exporter) Close() { e.closeWithin(closeTimeout) }

func (e *Exporter) closeWithin(limit time.Duration) {
	if e.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = e.provider.Shutdown(ctx) // the export has logged and counted its failure
}

// The values of the label outcome of echosieve_tracing_spans_total.
const (
	exported = "exported"
	failed   = "failed"  // the receiver did not take them
	dropped  = "dropped" // too many spans were waiting
)

// queue bounds the spans that wait. The SDK's batch processor drops spans, too, but tells nobody how many; it has room
// for as many spans as queue admits, so it never drops one.
type queue struct {
	sdk.SpanProcessor
	c *client
}

// OnEnd implements sdk.SpanProcessor. It never blocks.
func (q queue) OnEnd(span sdk.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	if q.c.waiting.Add(1) > int64(q.c.settings.queue) {
		q.c.waiting.Add(-1)
		q.c.outcomes.WithLabelValues(dropped).Inc()
		return
	}
	q.SpanProcessor.OnEnd(span)
}

// client sends spans by OTLP over HTTP, as protobuf, one request at a time, and counts their outcomes. OpenTelemetry's
// own client for HTTP, otlptracehttp v1.47.0, imports gRPC and makes the program 11 MB larger. What a receiver does not
// take is not sent again: the next spans are as good.
type client struct {
	http     *http.Client
	settings settings
	outcomes *prometheus.CounterVec
	log      *slog.Logger

	waiting  atomic.Int64 // spans
	isBroken bool         // used by the processor's goroutine only
}

var _ otlptrace.Client = (*client)(nil)

func newClient(s settings, outcomes *prometheus.CounterVec, log *slog.Logger) (*client, error) {
	tls, err := s.tls.Load()
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE, CLIENT_CERTIFICATE or CLIENT_KEY: %w", err)
	}
	return &client{settings: s, outcomes: outcomes, log: log, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: tls, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		// The headers of the settings may be keys: they go to no other server than that of the settings.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Start implements otlptrace.Client. It connects to nothing.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It logs once when the receiver stops taking spans, and once when it takes
// them again.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	count, outcome, err := 0, exported, c.send(ctx, spans)
	for _, of := range spans {
		for _, scope := range of.GetScopeSpans() {
			count += len(scope.GetSpans())
		}
	}
	c.waiting.Add(-int64(count))
	switch {
	case err != nil && !c.isBroken:
		c.log.Warn("trace spans cannot be sent: articles are unaffected", "err", fmt.Errorf("traces export: %w", err))
	case err == nil && c.isBroken:
		c.log.Info("trace spans can be sent again")
	}
	if c.isBroken = err != nil; c.isBroken {
		outcome = failed
	}
	c.outcomes.WithLabelValues(outcome).Add(float64(count))
	return nil // logged and counted
}

func (c *client) send(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// OTLP's request and TracesData have the same bytes; opentelemetry/proto/trace/v1/trace.proto promises
	// that. The type of the request lies in a package that imports gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.endpoint.String(),
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range c.settings.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// a connection is used again if its response was read
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 == 2 {
		return nil
	}
	return fmt.Errorf("the receiver answered %s", response.Status)
}
