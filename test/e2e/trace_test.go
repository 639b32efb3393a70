package e2e

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/otlpreceiver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Each batch is one trace with a span for each stage. It has a link to each span that its records name, and
// each output names it. The records' own traceparent passes unchanged.
func TestTraceOfABatch(t *testing.T) {
	receiver := otlpreceiver.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings())
	p.WaitReady(t)
	_, records := written(t, 400)
	parents := 0
	for i, r := range records {
		if r.Key == nil || i%4 == 0 {
			continue
		}
		parents++
		parent := fmt.Sprintf("00-%032x-%016x-01", 1+i, 1+i)
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "traceparent", Value: []byte(parent)})
	}
	require.Positive(t, parents)
	inputs := publish(t, c, records)
	outputs := watch(t, c, len(records), func(int) {})
	require.Zero(t, p.End(t), "the service sends the last spans when it stops")

	spans, linked := map[string]*tracepb.Span{}, map[string]string{} // identity of a producer's span -> batch
	for _, span := range receiver.Spans() {
		id := identity(span.GetTraceId(), span.GetSpanId())
		spans[id] = span
		for _, l := range span.GetLinks() {
			linked[identity(l.GetTraceId(), l.GetSpanId())] = id
		}
	}
	stages := map[string]int{} // "stage of its parent"
	for _, span := range spans {
		name, _, _ := strings.Cut(span.GetName(), " ") // the topic follows
		if parent := span.GetParentSpanId(); len(parent) > 0 {
			require.Contains(t, spans, identity(span.GetTraceId(), parent), "the parent of %s", name)
			name += " of " + spans[identity(span.GetTraceId(), parent)].GetName()
		}
		stages[name]++
	}
	for _, want := range []string{"prepare of batch", "claim of batch", "publish of batch", "store_entries of claim",
		"draw_tickets of claim", "publish of publish"} {
		require.Positive(t, stages[want], "%s in %v", want, stages)
	}
	require.Equal(t, stages["batch"], stages["claim of batch"])
	for _, out := range outputs {
		h := ledger.Headers(out)
		ours := strings.TrimSuffix(strings.TrimPrefix(h[pipeline.HeaderTraceparent], "00-"), "-01")
		require.Equal(t, "batch", spans[ours].GetName(), "a record names a span that no batch has: %v", h)
		parent := ledger.Headers(inputs[h[pipeline.HeaderInput]])["traceparent"]
		require.Equal(t, parent, h["traceparent"])
		if parent != "" {
			require.Equal(t, ours, linked[strings.TrimSuffix(strings.TrimPrefix(parent, "00-"), "-01")])
		}
	}
	require.Len(t, linked, parents)
}

func identity(trace, span []byte) string {
	return hex.EncodeToString(trace) + "-" + hex.EncodeToString(span)
}
