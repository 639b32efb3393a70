package consumer

import (
	"strconv"
	"sync/atomic"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"go.opentelemetry.io/otel/trace"
)

// partition is one partition of an input topic in one group generation. Three goroutines serve it: fetch, feed
// (prepare) and finish. Channels without a buffer connect them: at most three batches are in flight, so a backlog
// leaves memory and cores to other partitions. All batches pass in order, so one offset says how far the work is done.
type partition struct {
	c     *Consumer
	input *inputTopic
	topic string
	id    int32
	name  string // id in decimal, for labels

	subject string // topic/id, for reports

	owner *delivery.Owner
	near  broker.Near // used by fetch only

	// mark is how far the partition is done; its Next is -1 as long as that is not known.
	mark          atomic.Pointer[broker.Commit]
	stop          func(error)    // ends run with an error; set by run
	committed     *broker.Commit // the latest mark that was committed; used by the commit loop only
	highWatermark atomic.Int64   // the offset after the last record that all in-sync replicas have
}

// batch is a run of records that goes through the stages together.
type batch struct {
	records  []record.Record // may be empty: then only the offset moves
	next     int64           // offset to commit when the batch is done
	permit   broker.Permit
	prepared *pipeline.Batch // nil before prepare, and if there are no records
	span     trace.Span      // nil if the batch is not traced
}

// newPartition returns a partition of an input topic that this process owns.
func newPartition(c *Consumer, input *inputTopic, id int32, owner *delivery.Owner) *partition {
	p := &partition{c: c, input: input, topic: input.name, id: id, name: strconv.Itoa(int(id)), owner: owner}
	p.subject = p.topic + "/" + p.name
	p.setMark(max(owner.Next, -1))
	p.committed = p.mark.Load()
	return p
}

// setMark is called only while no output of the partition is on its way.
func (p *partition) setMark(next int64) { p.mark.Store(p.owner.Positions(next)) }

// observeLag sets the lag metric: the high watermark minus the mark. Records that were fetched and not yet
// marked count as lag.
func (p *partition) observeLag() {
	if next := p.mark.Load().Next; next >= 0 {
		p.c.metrics.Lag.WithLabelValues(p.topic, p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}

// release returns the memory of a batch that is done or dropped, and ends its trace.
func (p *partition) release(b *batch) {
	p.c.limiter.Release(b.permit)
	if b.span != nil {
		b.span.End()
	}
}
