package consumer

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"echosieve/internal/telemetry"
	"echosieve/pipeline/record"
)

// TraceWith makes the consumer begin a trace for each batch. It may be called once, before Run. Without it,
// or with nil, nothing is traced.
//
// The trace of a batch begins when its records were read from a fetch response, and ends when they are
// marked. Fetches and commits serve several batches and belong to no trace. The batch's span has links to the
// spans that the records name in their header traceparent: a batch has many producers, so none of them can be
// its parent.
func (c *Consumer) TraceWith(t trace.Tracer) { c.tracer = t }

// startTrace begins the trace of a batch that has records.
func (p *partition) startTrace(b *batch) {
	if p.c.tracer == nil || len(b.records) == 0 {
		return
	}
	_, b.span = p.c.tracer.Start(context.Background(), "batch",
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(telemetry.Links(carriers(b.records))...),
		trace.WithAttributes(
			attribute.String("messaging.system", "kafka"),
			attribute.String("messaging.destination.name", p.topic),
			attribute.String("messaging.destination.partition.id", p.name),
			attribute.String("messaging.consumer.group.name", p.c.cfg.Group),
			attribute.Int("messaging.batch.message_count", len(b.records)),
			attribute.Int64("messaging.kafka.offset", b.records[0].Offset),
		))
}

// traced returns ctx with the span of the batch, if it has one.
func (b *batch) traced(ctx context.Context) context.Context {
	if b.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, b.span)
}

// traceparent returns the identity of the batch's span; empty if it has none.
func (b *batch) traceparent() string {
	if b.span == nil {
		return ""
	}
	return telemetry.Traceparent(b.span)
}

// carriers returns the headers of the records that have some. Of headers with one name the last one counts.
func carriers(records []record.Record) (all []propagation.MapCarrier) {
	for i := range records {
		if len(records[i].Headers) > 0 {
			headers := propagation.MapCarrier{}
			for _, h := range records[i].Headers {
				headers[h.Key] = string(h.Value)
			}
			all = append(all, headers)
		}
	}
	return all
}
