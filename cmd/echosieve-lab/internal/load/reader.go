package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
}

// newReader asks the brokers for the ends of the output topics. The caller calls run, or closes the client.
func newReader(ctx context.Context, cfg broker.Config, trial string, l *ledger) (*reader, error) {
	asking, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	topics := []string{cfg.Topics.Unique, cfg.Topics.Duplicate, cfg.Topics.Dead}
	if cfg.Topics.Possible != "" {
		topics = append(topics, cfg.Topics.Possible)
	}
	ends, err := kadm.NewClient(asking).ListEndOffsets(ctx, topics...)
	if err := errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf(
			"load: the output topics %s cannot be read: %w; if they are missing, create them or type the command "+
				"again with --kafka.create_topics", strings.Join(topics, ", "), err)
	}
	r := &reader{trial: trial + "/", ledger: l}
	r.client, err = newClient(cfg, kgo.ConsumePartitions(ends.KOffsets()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return r, err
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
