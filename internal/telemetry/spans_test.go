package telemetry

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestStart(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	_, child := Start(ctx, "child")
	End(child, errors.New("away"))
	End(root, nil)
	ended := spans.Ended()
	require.Len(t, ended, 2)
	require.Equal(t, root.SpanContext().SpanID(), ended[0].Parent().SpanID())
	require.Equal(t, sdk.Status{Code: codes.Error, Description: "away"}, ended[0].Status())
	require.Equal(t, codes.Unset, ended[1].Status().Code)
}

// Without a trace, or in a trace that is not sampled, nothing is allocated.
func TestStartCostsNothing(t *testing.T) {
	_, unsampled := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample())).Tracer("test").Start(t.Context(), "root")
	for _, ctx := range []context.Context{t.Context(), trace.ContextWithSpan(t.Context(), unsampled)} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			_, span := Start(ctx, "child")
			End(span, nil)
		}))
	}
}

func TestLinks(t *testing.T) {
	const one, other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00"
	links := Links([]propagation.MapCarrier{
		{"traceparent": one, "tracestate": "a=b"},
		{"traceparent": other},
		{"traceparent": one},
		{"traceparent": "00-" + "0"},
		{"other": one},
		{},
	})
	require.Len(t, links, 2)
	require.Equal(t, "00f067aa0ba902b7", links[0].SpanContext.SpanID().String())
	require.Equal(t, "b", links[0].SpanContext.TraceState().Get("a"))
	require.Equal(t, "00f067aa0ba902b8", links[1].SpanContext.SpanID().String())
	require.Equal(t, one,
		Traceparent(trace.SpanFromContext(trace.ContextWithRemoteSpanContext(t.Context(), links[0].SpanContext))))
	require.Empty(t, Traceparent(trace.SpanFromContext(t.Context())))
}
