package e2e

import (
	"encoding/hex"
	"fmt"
	"slices"
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
	records := fresh(articles(t)[:400])
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

	roots, children := spanTree(t, receiver.Spans())
	for id, root := range roots {
		require.Equal(t, "batch", root.GetName())
		names := stageNames(children, id)
		for _, want := range []string{"prepare", "claim", "publish"} {
			require.Contains(t, names, want, "of %v", names)
		}
	}
	linked := map[string]string{} // identity of a producer's span -> root
	for id, root := range roots {
		for _, l := range root.GetLinks() {
			linked[identity(l.GetTraceId(), l.GetSpanId())] = id
		}
	}
	for _, out := range outputs {
		h := ledger.Headers(out)
		ours := strings.TrimSuffix(strings.TrimPrefix(h[pipeline.HeaderTraceparent], "00-"), "-01")
		require.Contains(t, roots, ours, "a record names a span that no batch has: %v", h)
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

// spanTree returns the spans without a parent by their identity, and all others by the identity of their
// parent. All parents exist, and no span lasts longer than its parent.
func spanTree(t *testing.T, spans []*tracepb.Span) (roots map[string]*tracepb.Span,
	children map[string][]*tracepb.Span) {
	t.Helper()
	all, roots, children := map[string]*tracepb.Span{}, map[string]*tracepb.Span{}, map[string][]*tracepb.Span{}
	for _, s := range spans {
		all[identity(s.GetTraceId(), s.GetSpanId())] = s
	}
	for id, s := range all {
		if len(s.GetParentSpanId()) == 0 {
			roots[id] = s
			continue
		}
		parent := identity(s.GetTraceId(), s.GetParentSpanId())
		require.Contains(t, all, parent, s.GetName())
		require.GreaterOrEqual(t, s.GetStartTimeUnixNano(), all[parent].GetStartTimeUnixNano())
		require.LessOrEqual(t, s.GetEndTimeUnixNano(), all[parent].GetEndTimeUnixNano())
		children[parent] = append(children[parent], s)
	}
	require.NotEmpty(t, roots)
	for _, under := range []struct{ stage, child string }{{"claim", "store_entries"}, {"claim", "draw_tickets"},
		{"publish", "publish "}} {
		found := slices.ContainsFunc(spans, func(s *tracepb.Span) bool {
			parent := all[identity(s.GetTraceId(), s.GetParentSpanId())]
			return strings.HasPrefix(s.GetName(), under.child) && parent != nil && parent.GetName() == under.stage
		})
		require.True(t, found, "no span %q in a span %q", under.child, under.stage)
	}
	return roots, children
}

func stageNames(children map[string][]*tracepb.Span, of string) []string {
	var names []string
	for _, s := range children[of] {
		names = append(names, s.GetName())
	}
	return names
}
