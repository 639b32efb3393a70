// Package telemetry adds spans to the trace of a batch, which the consumer begins and hands on in the context. Without
// a trace in the context its functions do nothing. Package otlp sends the spans away.
package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Scope names this program as the author of its spans.
const Scope = "echosieve"

// Start begins a span within the span of ctx, and returns a context with the new span. The caller calls End.
// Without a span in ctx, or if it is not sampled, Start returns ctx and a span that does nothing.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}

// End ends a span. If err is not nil, the span has failed and says why.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// traceparent is the name under which the W3C format carries a span's identity.
const traceparent = "traceparent"

// Traceparent returns the identity of a span in the W3C format, such as
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; empty if the span has none.
func Traceparent(span trace.Span) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), span), carrier)
	return carrier[traceparent]
}

// Links returns a link to each span that one of the carriers names in the W3C format. Carriers without a
// valid traceparent are left out, and each span has one link.
func Links(carriers []propagation.MapCarrier) (links []trace.Link) {
	seen := map[string]bool{}
	for _, c := range carriers {
		span := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), c))
		id := span.TraceID().String() + span.SpanID().String()
		if span.IsValid() && !seen[id] {
			seen[id] = true
			links = append(links, trace.Link{SpanContext: span})
		}
	}
	return links
}
