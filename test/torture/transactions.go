package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	transactionRecords = 60 // at least, so many records of one transaction
	transactionPause   = 100 * time.Millisecond
	leastTransactions  = 4 // of a round
)

// transactions publishes articles in transactions, of which every second one is aborted. A fault of Kafka and a transaction wait for
// each other: a single Kafka 4.3.1 broker that is killed while a transaction is open can lose the transaction's markers, and then
// the partition's readers stand still or get aborted records.
type transactions struct {
	client    *kgo.Client
	desk      *desk
	begun     int
	committed int // records
	aborted   int // records
}

func newTransactions(addrs []string, topic string, d *desk) (*transactions, error) {
	client, err := newPublisher(addrs, topic, kgo.TransactionalID(topic))
	if err != nil {
		return nil, err
	}
	return &transactions{client: client, desk: d}, nil
}

// run publishes transactions until enough is closed.
func (x *transactions) run(ctx context.Context, r *round, enough <-chan struct{}) error {
	defer x.client.Close()
	for {
		if err := x.publish(ctx, r); err != nil {
			return fmt.Errorf("publish in a transaction: %w", err)
		}
		select {
		case <-enough:
			if x.begun >= leastTransactions {
				return nil
			}
		default:
		}
		if err := pause(ctx, transactionPause); err != nil {
			return err
		}
	}
}

// publish makes one transaction and waits until the broker has marked its end in every partition.
func (x *transactions) publish(ctx context.Context, r *round) error {
	r.kafka.Lock()
	defer r.kafka.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("it did not end in time"))
	defer cancel()
	commit := kgo.TransactionEndTry(x.begun%2 == 0)
	x.begun++
	if err := x.client.BeginTransaction(); err != nil {
		return err
	}
	var records []*kgo.Record
	for len(records) < transactionRecords {
		records = append(records, x.desk.write()...)
	}
	if err := x.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	if err := x.client.EndTransaction(ctx, commit); err != nil {
		return err
	}
	if commit {
		x.committed += len(records)
	} else {
		x.aborted += len(records)
	}
	return settle(ctx, r)
}

// settle waits until readers of committed records may read what was published before: until no transaction is open there.
func settle(ctx context.Context, r *round) error {
	for {
		open, err := unsettled(ctx, r)
		if err == nil && !open {
			return nil
		}
		// Errors pass: a broker that is just back answers some of the first requests with one.
		if stop := pause(ctx, 20*time.Millisecond); stop != nil {
			return errors.Join(stop, err)
		}
	}
}

// unsettled says whether an open transaction, or one without its marker, hides records of the input topic.
func unsettled(ctx context.Context, r *round) (bool, error) {
	ends, err := r.w.admin.ListEndOffsets(ctx, r.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return false, err
	}
	stable, err := r.w.admin.ListCommittedOffsets(ctx, r.topic)
	if err == nil {
		err = stable.Error()
	}
	if err != nil {
		return false, err
	}
	next := map[int32]int64{}
	for partition, o := range stable[r.topic] {
		next[partition] = o.Offset
	}
	return behind(ends, r.topic, next), nil
}
