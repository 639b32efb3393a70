package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
)

// headerNumber is the header that numbers the published records: "trial/number". The service copies headers
// that are not its own from a record to its output.
const headerNumber = "load-record"

// reader reads the output topics as any consumer does. It begins at their ends at the time of newReader.
type reader struct {
	client *kgo.Client
	trial  string // beginning of the header
	ledger *ledger

	mu        sync.Mutex
	positions kadm.Offsets // offset behind the last record that was read, by partition
}

// newReader asks the brokers for the ends of the output topics. The caller calls run, or closes the client.
func newReader(ctx context.Context, cfg broker.Config, trial string, l *ledger) (*reader, error) {
	ends, err := outputEnds(ctx, cfg)
	if err != nil {
		return nil, err
	}
	partitions := map[string]map[int32]kgo.Offset{}
	r := &reader{trial: trial + "/", ledger: l, positions: kadm.Offsets{}}
	ends.Each(func(o kadm.ListedOffset) {
		if partitions[o.Topic] == nil {
			partitions[o.Topic] = map[int32]kgo.Offset{}
		}
		partitions[o.Topic][o.Partition] = kgo.NewOffset().At(o.Offset)
	})
	r.client, err = newClient(cfg, kgo.ConsumePartitions(partitions), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return r, err
}

func outputEnds(ctx context.Context, cfg broker.Config) (kadm.ListedOffsets, error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, outputs(cfg.Topics)...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf(
			"load: the output topics %s cannot be read: %w; if they are missing, create them or type the command "+
				"again with --kafka.create_topics", strings.Join(outputs(cfg.Topics), ", "), err)
	}
	return ends, nil
}

func outputs(t broker.Topics) []string {
	names := []string{t.Unique, t.Duplicate, t.Dead}
	if t.Possible != "" {
		names = append(names, t.Possible)
	}
	return names
}

// newClient returns a client of franz-go. Package consumer uses another library: an independent reader does
// not share its faults. It does not dial.
func newClient(cfg broker.Config, more ...kgo.Opt) (*kgo.Client, error) {
	tlsConfig, err := cfg.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("kafka.%w", err)
	}
	opts := append([]kgo.Opt{kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("echosieve-load")}, more...)
	if tlsConfig != nil {
		opts = append(opts, kgo.DialTLSConfig(tlsConfig))
	}
	user, password := cfg.SASL.Username, cfg.SASL.Password
	switch cfg.SASL.Mechanism {
	case "plain":
		opts = append(opts, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "scram-sha-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "scram-sha-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("load: Kafka client: %w", err)
	}
	return client, nil
}

// run reads until ctx ends, closes the client and returns nil.
func (r *reader) run(ctx context.Context) error {
	defer r.client.Close()
	for {
		fetches := r.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("load: reading the output topic %s: %w", errs[0].Topic, errs[0].Err)
		}
		fetches.EachRecord(r.take)
		r.mu.Lock()
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if n := len(p.Records); n > 0 {
				r.positions.AddOffset(p.Topic, p.Partition, p.Records[n-1].Offset+1, -1)
			}
		})
		r.mu.Unlock()
	}
}

// take adds the verdict of a record to the ledger, if the record belongs to this trial.
func (r *reader) take(record *kgo.Record) {
	verdict, number := "dead", ""
	for _, h := range record.Headers {
		switch h.Key {
		case pipeline.HeaderVerdict:
			verdict = string(h.Value)
		case headerNumber:
			number = string(h.Value)
		}
	}
	if number, ours := strings.CutPrefix(number, r.trial); ours {
		if n, err := strconv.Atoi(number); err == nil {
			r.ledger.arrive(n, verdict)
		}
	}
}

// read returns, for each partition, the offset behind the last record that was read.
func (r *reader) read() kadm.Offsets {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := kadm.Offsets{}
	r.positions.Each(copied.Add)
	return copied
}
