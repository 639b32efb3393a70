package delivery

import (
	"context"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
)

// identity is the producer id and the epoch of a writer's batches.
type identity interface {
	// remembered says whether a leader that has appended a batch with this latest timestamp still knows the
	// batch's numbers, and does not append the batch again.
	remembered(latest time.Time) bool
	// current returns the identity of the next record batch.
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
	cluster *broker.Cluster
	as      wire.Identity // its ID is wire.NoProducerID if there is none yet
}

func newOwnIdentity(c *broker.Cluster) *ownIdentity {
	return &ownIdentity{cluster: c, as: wire.Identity{ID: wire.NoProducerID}}
}

func (o *ownIdentity) current(ctx context.Context) (as wire.Identity, err error) {
	if o.as.ID == wire.NoProducerID {
		if as, err = o.cluster.Wire.NewProducer(ctx); err != nil {
			return as, o.cluster.RootCause(ctx, err)
		}
		o.as = as
	}
	return o.as, nil
}

// remembered is always true: where a leader has forgotten the batch, its records are repeated, as any redelivery may.
func (o *ownIdentity) remembered(time.Time) bool { return true }

// renew takes the next epoch, or a new id after the last epoch. It sends no request for the epoch.
func (o *ownIdentity) renew() error {
	if o.as.Epoch++; o.as.Epoch < 0 {
		o.as.ID = wire.NoProducerID
	}
	return nil
}

func (o *ownIdentity) refused(error) error {
	o.as.ID = wire.NoProducerID
	return nil
}
