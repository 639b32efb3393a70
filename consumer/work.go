package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/telemetry"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Handler turns records into outputs, batch by batch. Calls for different partitions are concurrent. Within a
// partition batches are decided in order, and one batch may be prepared while the batch before it is decided.
type Handler interface {
	// Prepare does all work that depends on the records and their schemas alone. It waits while the server of
	// schemas does not answer, and returns an error when ctx ends. Any other error ends Run. The records stay
	// valid until the batch is published or dropped.
	Prepare(ctx context.Context, records []record.Record) (*pipeline.Batch, error)
	// Decide returns the outputs in the order of the records. A record may have none. Decide retries while
	// the index does not answer, and returns an error when ctx ends. Any other error ends Run.
	Decide(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error)
	// Refused returns the dead letter that is published in place of an output of the batch that its topic
	// refuses permanently. Of an output that has the smallest form already, the topic's refusal counts as a
	// failure, which is tried again. Refused blocks while the index does not answer, and returns an error
	// when ctx ends. Any other error ends Run.
	Refused(ctx context.Context, b *pipeline.Batch, out *pipeline.Output, why *record.RejectError) (pipeline.Output,
		error)
	// Acknowledged is called when all outputs of a batch are acknowledged. took is the time from the decision
	// until then.
	Acknowledged(outputs []pipeline.Output, took time.Duration)
}

// Snapshots is a Handler whose outputs are snapshots of states that other processes change, too. Such an output is
// published again whenever its record is delivered again: the fence keeps older ones from following, but what an
// earlier owner has published is not left out. It needs exactly_once, and broker.Topics.SnapshotsFor.
type Snapshots interface {
	Handler
	// Outdated is called when the outputs of a batch are acknowledged. It returns those whose states have changed
	// since, anew. When it returns none, the batch is done. Errors are as in Decide.
	Outdated(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error)
}

// work is what all partitions of this process share: who decides, and how much may be under way. Its methods and those
// of progress are safe for concurrent use.
type work struct {
	*env
	handler                  Handler
	limiter                  *broker.Limiter
	tracer                   trace.Tracer // nil: nothing is traced
	batchRecords, batchBytes int          // limits of one batch; its last record may exceed batchBytes
	turn                     sync.Mutex   // see takesTurns
	// see the constants; tests set shorter times
	openPatience, shortPatience time.Duration
}

// takesTurns is the number of records from which batches of Snapshots are finished one after another. Batches of
// several partitions change the same states. Beside each other they would outdate most of each other's snapshots, and
// publish these twice. A process that keeps up with its input has smaller batches, which wait for nobody.
const takesTurns = 64

// maxBatchBytes bounds the payload of one batch, as far as single records allow.
const maxBatchBytes = 4 << 20

// openPatience is how long a producer's transaction may stop a partition before the process says so. Brokers abort a
// transaction after its producer's transaction.timeout.ms: a minute by default, but never if they lost track of it.
const openPatience = 30 * time.Second

// shortPatience is how long the log of a partition may seem to end before the next offset, until its end counts as
// lost. Then the partition is read from the start of the log, and its records are published again.
const shortPatience = time.Minute

// batch is a run of records that goes through the stages together.
type batch struct {
	records  []record.Record // may be empty: then only the offset moves
	next     int64           // offset to commit when the batch is done
	permit   broker.Permit
	prepared *pipeline.Batch // nil before prepare, and if there are no records
	span     trace.Span      // does nothing if the batch is not traced
}

func newBatch() *batch { return &batch{span: noop.Span{}} }

// release returns the memory of a batch that is done or dropped, and ends its trace.
func (w *work) release(b *batch) {
	w.limiter.Release(b.permit)
	b.span.End()
}

// progress is how far one partition of an input topic is, in one group generation.
type progress struct {
	*work
	wire.TopicPartition
	input *inputTopic
	name  string // of the partition in decimal, for labels

	owner *delivery.Owner
	// committable is how far the partition is done, to be committed; its Next is -1 as long as that is not known.
	committable   atomic.Pointer[broker.Commit]
	highWatermark atomic.Int64 // the offset after the last record that all in-sync replicas have
}

// setCommittable is called only while no output of the partition is on its way.
func (p *progress) setCommittable(next int64) { p.committable.Store(p.owner.Positions(next)) }

// observeLag sets the lag metric: the high watermark minus the committable offset. Records that were fetched and
// are not done count as lag.
func (p *progress) observeLag() {
	if next := p.committable.Load().Next; next >= 0 {
		p.metrics.Lag.WithLabelValues(p.Topic, p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}

// startTrace begins the trace of a batch that has records.
func (p *progress) startTrace(b *batch) {
	if p.tracer == nil || len(b.records) == 0 {
		return
	}
	_, b.span = p.tracer.Start(context.Background(), "batch",
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(telemetry.Links(carriers(b.records))...),
		trace.WithAttributes(
			attribute.String("messaging.system", "kafka"),
			attribute.String("messaging.destination.name", p.Topic),
			attribute.String("messaging.destination.partition.id", p.name),
			attribute.String("messaging.consumer.group.name", p.cfg.Group),
			attribute.Int("messaging.batch.message_count", len(b.records)),
			attribute.Int64("messaging.kafka.offset", b.records[0].Offset),
		))
}

// traced returns ctx with the span of the batch.
func (b *batch) traced(ctx context.Context) context.Context {
	return trace.ContextWithSpan(ctx, b.span)
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
