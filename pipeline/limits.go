package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// TopicLimits say which records a topic takes, as far as its settings tell. A nil *TopicLimits takes every record.
type TopicLimits struct {
	Topic string
	// MaxBytes is the size of the largest record batch. math.MaxInt: not known.
	MaxBytes int
	// MaxBehind and MaxAhead say how far a timestamp may lie behind and ahead of the broker's clock.
	// math.MaxInt64: any distance.
	MaxBehind, MaxAhead time.Duration
	// NeedsKey is set for a compacted topic: it takes no record without a key.
	NeedsKey bool
}

// NoLimits are the limits of a topic about which nothing is known.
func NoLimits(topic string) TopicLimits {
	return TopicLimits{Topic: topic, MaxBytes: math.MaxInt, MaxBehind: math.MaxInt64, MaxAhead: math.MaxInt64}
}

// BatchLimits are the limits of the output topics. nil: the topic is not used, or takes everything.
type BatchLimits [article.DestinationCount]*TopicLimits

// ofDead returns the limits of the topic that dead letters go to.
func (b *BatchLimits) ofDead() *TopicLimits {
	return cmp.Or(b[article.ToDead], b[article.ToShadow])
}

// refuse returns why the topics of verdicts would refuse a record; nil if they all would take it. The topic
// of the record is not known before it is claimed, so each topic counts. size is an upper bound of its output.
func (b *BatchLimits) refuse(r *record.Record, size int, now time.Time) *record.RejectError {
	for to, l := range b {
		if l == nil || article.Destination(to) == article.ToDead {
			continue
		}
		if reject := l.refuseTime(r.Time, now); reject != nil {
			return reject
		}
		// A shadow leaves values out, so its records are smaller.
		if size > l.MaxBytes && article.Destination(to) != article.ToShadow {
			return tooLarge(size, l.MaxBytes, "topic "+l.Topic+" takes")
		}
		if l.NeedsKey && r.Key == nil {
			return record.Reject(record.Refused,
				"topic %s is compacted and takes no record without a key: set its cleanup.policy to delete", l.Topic)
		}
	}
	return nil
}

// refuseTime returns why the topic refuses a timestamp, or nil. Brokers let -1 pass, which stands for "no timestamp".
func (l *TopicLimits) refuseTime(at, now time.Time) *record.RejectError {
	if l == nil || at.UnixMilli() == -1 {
		return nil
	}
	distance, direction, most := at.Sub(now), "ahead of", l.MaxAhead
	if distance < 0 {
		distance, direction, most = now.Sub(at), "behind", l.MaxBehind
	}
	if distance <= most {
		return nil
	}
	return record.Reject(record.Timestamp, "the timestamp %s is %s %s the clock, and topic %s takes at most %s",
		formatTime(at), distance.Round(time.Second), direction, l.Topic, most)
}

func tooLarge(bytes, most int, who string) *record.RejectError {
	return record.Reject(record.TooLarge, "%d bytes with the verdict, but %s %d", bytes, who, most)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Refused returns the dead letter that takes the place of an output of the batch that its topic refused
// permanently, although its limits allowed it: they were changed a moment ago, cannot be read, or the
// broker's clock differs. If the output is a dead letter itself, Refused returns the smallest form of it.
//
// The article stands in the index, but is not published, so no later article may be its copy: Refused
// retracts it. It blocks while the index is away, and returns an error only when ctx ends.
func (p *Pipeline) Refused(ctx context.Context, b *Batch, out *Output, why *record.RejectError) (Output, error) {
	if out.Verdict.Kind == 0 {
		return smallestDead(out, p.now()), nil // which goes to the shadow already
	}
	for i := range b.Records {
		if one := &b.prepared[i]; &b.Records[i] == out.Record && !one.tombstone {
			if err := p.index.Retract(ctx, &one.article); err != nil {
				return Output{}, fmt.Errorf("pipeline: retract %s: %w", out.Record, err)
			}
		}
	}
	dead := p.dead(b, out.Record, why)
	p.finish(b, &dead)
	return dead, nil
}

// finish adds the identity of the batch's trace to an output, and sends that of a shadow to its topic.
func (p *Pipeline) finish(b *Batch, o *Output) {
	if b.Traceparent != "" {
		o.Headers = append(o.Headers, header(HeaderTraceparent, b.Traceparent))
	}
	if p.cfg.Shadow {
		o.Headers = append(o.Headers, header(HeaderShadow, o.Destination.String()))
		o.Destination, o.Value = article.ToShadow, nil
	}
}

// dead returns the dead letter of a record of the batch.
func (p *Pipeline) dead(b *Batch, r *record.Record, why *record.RejectError) Output {
	most, now := p.cfg.MaxMessageBytes, p.now()
	limits := b.Limits.ofDead()
	if limits != nil {
		most = min(most, limits.MaxBytes)
	}
	out := deadOutput(r, why, most)
	if why.Reason == record.Timestamp || limits.refuseTime(r.Time, now) != nil {
		out.restamp(now)
	}
	return out
}
