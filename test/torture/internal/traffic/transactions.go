package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/articles"
	"echosieve/test/torture/internal/process"
)

const (
	transactionRecords = 60                     // the fewest records of a transaction
	transactionPause   = 100 * time.Millisecond // between two transactions
	transactionTimeout = 3 * time.Minute
	minTransactions    = 4 // of a round
)

// Transactions publishes articles in transactions and aborts every second one. A fault of Kafka and a
// transaction exclude each other: a single Kafka 4.3.1 broker that is killed while a transaction is open can
// lose the transaction's markers. The readers of the partition then wait forever or get aborted records,
// without a mistake of the service.
type Transactions struct {
	// Written knows the articles of committed and of aborted transactions.
	Written *articles.Writer
	// Committed and Aborted count records. They are for reading after Run.
	Committed, Aborted int

	client   *kgo.Client
	admin    *kadm.Client
	topics   []string // used in turn
	noFaults sync.Locker
	begun    int
}

// NewTransactions returns transactions for topics. Run holds noFaults while a transaction is open: nobody
// may break Kafka then.
func NewTransactions(addrs, topics []string, admin *kadm.Client, noFaults sync.Locker,
	written *articles.Writer) (*Transactions, error) {
	client, err := newPublisher(addrs, kgo.TransactionalID(topics[0]))
	if err != nil {
		return nil, err
	}
	return &Transactions{client: client, admin: admin, topics: topics, noFaults: noFaults, Written: written}, nil
}

// Run publishes transactions until the feed is told that it is enough.
func (x *Transactions) Run(ctx context.Context, feed *Feed) error {
	defer x.client.Close()
	for {
		if err := x.publish(ctx); err != nil {
			return fmt.Errorf("publish in a transaction: %w", err)
		}
		select {
		case <-feed.enough:
			if x.begun >= minTransactions {
				return nil
			}
		default:
		}
		if err := process.Pause(ctx, transactionPause); err != nil {
			return err
		}
	}
}

// publish makes one transaction and waits until the broker has marked its end in every partition.
func (x *Transactions) publish(ctx context.Context) error {
	x.noFaults.Lock()
	defer x.noFaults.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, transactionTimeout, errors.New("the transaction did not end in time"))
	defer cancel()
	commit := kgo.TransactionEndTry(x.begun%2 == 0)
	x.begun++
	if err := x.client.BeginTransaction(); err != nil {
		return err
	}
	var records []*kgo.Record
	for len(records) < transactionRecords {
		records = append(records, x.Written.Write()...)
	}
	for i, r := range records {
		r.Topic = x.topics[i%len(x.topics)]
	}
	if err := x.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	if err := x.client.EndTransaction(ctx, commit); err != nil {
		return err
	}
	if commit {
		x.Committed += len(records)
	} else {
		x.Aborted += len(records)
	}
	return x.settle(ctx)
}

// settle waits until readers of committed records may read everything that was published so far.
func (x *Transactions) settle(ctx context.Context) error {
	for {
		open, err := x.unsettled(ctx)
		if err == nil && !open {
			return nil
		}
		// An error is not final: a broker that has just come back answers some of the first requests with an error.
		if stop := process.Pause(ctx, 20*time.Millisecond); stop != nil {
			return errors.Join(stop, err)
		}
	}
}

// unsettled says whether an open transaction, or one without its marker, hides records of the input topics.
func (x *Transactions) unsettled(ctx context.Context) (bool, error) {
	ends, err := x.admin.ListEndOffsets(ctx, x.topics...)
	if err := errors.Join(err, ends.Error()); err != nil {
		return false, err
	}
	stable, err := x.admin.ListCommittedOffsets(ctx, x.topics...)
	if err := errors.Join(err, stable.Error()); err != nil {
		return false, err
	}
	open := false
	ends.Each(func(end kadm.ListedOffset) {
		o, _ := stable.Lookup(end.Topic, end.Partition)
		open = open || o.Offset < end.Offset
	})
	return open, nil
}
