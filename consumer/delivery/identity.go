package delivery

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
)

// identity is the producer id and the epoch of a writer's batches.
type identity interface {
	// remembered says whether a leader that has appended a batch with this latest timestamp still knows the
	// batch's numbers, and does not append the batch again.
	remembered(latest time.Time) bool

	// current returns the identity of the next record batch. wire.NoProducerID: batches carry no sequence numbers.
	current(ctx context.Context) (wire.Identity, error)
	// renew is called before a new sequence begins. After an error no batch may be written any more.
	renew() error
	// refused is called when a leader has refused the identity for the reason err. After an error no batch
	// may be written any more.
	refused(err error) error
}

// fencedIdentity is the identity that a take-over has established. It is never changed: a new one comes from
// a new take-over.
type fencedIdentity struct {
	as     wire.Identity
	memory time.Duration // how long leaders remember a producer
}

func (f fencedIdentity) current(context.Context) (wire.Identity, error) { return f.as, nil }

func (f fencedIdentity) remembered(latest time.Time) bool {
	return time.Since(latest) <= f.memory/renewalsInMemory
}

func (fencedIdentity) renew() error { return ErrStandingLost }

func (fencedIdentity) refused(err error) error {
	if react(err) == leave {
		return ErrTakenOver
	}
	return ErrStandingLost
}

// ownIdentity is a producer id of the writer's own, with no transactional id. Nobody else writes under it. So
// the writer chooses each new epoch itself: leaders accept any higher one. The Java client does the same
// since version 2.5.
//
// Two cases remain in which a retry can repeat records. Brokers forget a producer id that has been silent for
// producer.id.expiration.ms (a day by default). And if a limit of the topic is lowered between two attempts,
// a batch that was already appended is sent again in parts, or becomes dead letters.
type ownIdentity struct {
	ids *producerIDs
	as  wire.Identity // its ID is wire.NoProducerID if there is none yet
}

func newOwnIdentity(ids *producerIDs) *ownIdentity {
	return &ownIdentity{ids: ids, as: wire.Identity{ID: wire.NoProducerID}}
}

func (o *ownIdentity) current(ctx context.Context) (as wire.Identity, err error) {
	if o.as.ID == wire.NoProducerID {
		o.as.ID, o.as.Epoch, err = o.ids.next(ctx)
	}
	return o.as, err
}

// remembered is always true: where a leader has forgotten the batch, its records are repeated, as any redelivery may.
func (o *ownIdentity) remembered(time.Time) bool { return true }

// renew takes the next epoch, or a new id after the last epoch. It sends no request for the epoch.
func (o *ownIdentity) renew() error {
	switch {
	case o.as.Epoch == math.MaxInt16:
		o.as.ID = wire.NoProducerID
	case o.as.ID != wire.NoProducerID:
		o.as.Epoch++
	}
	return nil
}

func (o *ownIdentity) refused(error) error {
	o.as.ID = wire.NoProducerID
	return nil
}

// producerIDs gives a producer id to each writer that needs one. Safe for concurrent use.
type producerIDs struct {
	cluster *broker.Cluster
	refused atomic.Bool
	// onRefusal is called once, if brokers refuse ids.
	onRefusal func(*diag.Problem)
}

// next returns a new producer id with its first epoch. A broker may refuse ids because a right is missing, or
// because it does not know the request. From then on next returns wire.NoProducerID without an error, and
// batches carry no sequence numbers.
func (p *producerIDs) next(ctx context.Context) (id int64, epoch int16, err error) {
	if p.refused.Load() {
		return wire.NoProducerID, -1, nil
	}
	asking, cancel := context.WithTimeout(ctx, broker.RequestTimeout)
	defer cancel()
	id, epoch, err = p.cluster.Wire.InitProducerID(asking)
	err = p.cluster.RootCause(ctx, err)
	if problem := notIdempotent(err); problem != nil {
		if p.refused.CompareAndSwap(false, true) && p.onRefusal != nil {
			p.onRefusal(problem)
		}
		return wire.NoProducerID, -1, nil
	}
	return id, epoch, err
}

// notIdempotent explains why a broker gives no producer ids, if trying again is pointless. It returns nil for
// other errors and for nil.
func notIdempotent(err error) *diag.Problem {
	switch {
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		return &diag.Problem{
			Cause: "this user gets no producer id, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "grant Write on the output topics; with Kafka before 2.8 also grant IdempotentWrite on the " +
				"cluster; then restart",
			Err: err, Permanent: true,
		}
	case errors.Is(err, wire.ErrNoProducerIDs), errors.Is(err, kafka.UnsupportedVersion):
		return &diag.Problem{
			Cause:  "the broker gives no producer ids, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "use Kafka 2.3 or later",
			Err:    err, Permanent: true,
		}
	}
	return nil
}
