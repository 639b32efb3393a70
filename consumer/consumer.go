// Package consumer is the service as a member of a consumer group: it fetches the input topics, hands records to a
// Handler in batches, publishes the outputs that the Handler returns, and commits offsets. It and the packages below
// it are all that speaks Kafka: broker reaches the cluster, delivery publishes outputs, tools serves commands.
//
// Delivery is exactly once where brokers allow it (package delivery), otherwise at least once. In both: committed
// offset <= acknowledged outputs <= decided verdicts <= stored entries. An offset is committed only after every output
// of the records before it was acknowledged by all in-sync replicas. Records that were published and not committed are
// delivered again after a crash, and get the same verdicts. With exactly once they are not published again.
//
// Records of one input partition keep their order in each output topic: input partition p always goes to
// output partition p modulo the number of output partitions.
//
// The path of a record: Consumer.Run (run.go) joins the group (member.go), groupGeneration.start starts three
// goroutines for each assigned partition (generation.go), and they fetch (fetch.go), prepare and finish (partition.go)
// batches of records. finish calls the Handler, delivery.Owner.Publish waits for acknowledgements, and
// groupGeneration.commit commits the marks.
//
// kafka-go forms the group and keeps connections. Its Reader and Writer are not used by the service: package
// wire reads and writes record batches instead, and its package comment says why.
package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
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

// Labels are stored beside the group's committed offsets (broker.Commit), and survive a restart of all
// members. The index stores which one it is and how far it has counted. So it notices after a restart that
// Redis has lost data, and that another index was used.
type Labels interface {
	// Label returns what the index stores: one word without spaces, of a few hundred bytes, or "". It is called before
	// each commit.
	Label() string
	// Recall is called whenever partitions are assigned, and every 5 seconds, with the labels of all
	// partitions of the input topics that have one, by the offset beside which the label stands. Calls may be
	// concurrent. The map belongs to Recall.
	Recall(labels map[article.Coordinates]string)
	// Decider says whether the latest of these labels names the index of this process, and else in words how this
	// index differs from the one that it names; "": no label names one.
	Decider(labels map[article.Coordinates]string) (mine bool, differs string)
	// CatchUp is called before this process joins the group. If its index was filled up to known positions, it
	// stores what others have decided since, and says how far it is. It returns false if nothing was lacking.
	CatchUp(ctx context.Context, labels map[article.Coordinates]string, say func(string)) (lacked bool, err error)
}

// Consumer is one member of the consumer group. New makes it, and Run may be called once.
type Consumer struct {
	cfg                      broker.Config
	cluster                  *broker.Cluster
	member                   string // client id in the group, see name; empty: the process has no name
	inputs                   []*inputTopic
	delivery                 *delivery.Delivery
	handler                  Handler
	labels                   Labels // may be nil
	labelsInterval           time.Duration
	tracer                   trace.Tracer // nil: nothing is traced
	limiter                  *broker.Limiter
	metrics                  *broker.Metrics
	reporter                 *broker.Reporter
	log                      *slog.Logger
	batchRecords, batchBytes int // limits of one batch; its last record may exceed batchBytes
	warn                     func(kind, text string)
	// partitions that this member has assigned, as leader, for the next group generation; -1: it is not the leader
	assigned atomic.Int64
	joining  atomic.Bool                    // this process is about to join the group, and has no partitions
	joined   atomic.Bool                    // see Joined
	turn     sync.Mutex                     // see takesTurns
	fail     func(error)                    // ends Run with an error
	stepBack func()                         // ends the membership of this process, see admit
	admitted map[article.Coordinates]string // the labels when this process was admitted
}

// labelsInterval is the time between two looks at the labels of all partitions; tests set a shorter one.
const labelsInterval = 5 * time.Second

// takesTurns is the number of records from which batches of Snapshots are finished one after another. Batches of
// several partitions change the same states. Beside each other they would outdate most of each other's snapshots, and
// publish these twice. A process that keeps up with its input has smaller batches, which wait for nobody.
const takesTurns = 64

// maxBatchBytes bounds the payload of one batch, as far as single records allow.
const maxBatchBytes = 4 << 20

// New validates the configuration and reads certificate and password files. It does not dial. health learns
// which operations fail: it gets "kafka", the operation, and the reason after each failure, and a nil error
// when that operation works again or is given up. It must not block. reg may be nil in tests.
func New(cfg broker.Config, handler Handler, reg prometheus.Registerer, log *slog.Logger,
	health func(component string, call fmt.Stringer, err error),
) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	cl, err := broker.New(cfg, cfg.Topics.All()...)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	m := broker.NewMetrics(reg)
	r := broker.NewReporter(m, log, health)
	limiter := broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m)
	c := &Consumer{
		cfg:            cfg,
		cluster:        cl,
		delivery:       delivery.New(cl, limiter, m, r, log),
		handler:        handler,
		metrics:        m,
		reporter:       r,
		log:            log,
		labelsInterval: labelsInterval,
		limiter:        limiter,
		warn:           func(string, string) {},
		batchRecords:   min(cfg.BatchRecords, cfg.MaxInFlightRecords),
		batchBytes:     min(maxBatchBytes, max(cfg.MaxInFlightBytes/8, 1)),
	}
	for _, name := range cfg.Topics.Inputs {
		input := &inputTopic{cluster: cl, name: name}
		input.id.Store(&wire.TopicID{})
		c.inputs = append(c.inputs, input)
	}
	c.assigned.Store(-1)
	return c, nil
}

// InputID returns the id of the first input topic in this group generation; zero as long as it is unknown, and where
// brokers have no ids.
func (c *Consumer) InputID() [16]byte { return *c.inputs[0].id.Load() }

// Ping makes one round trip to a broker. The error says what to do.
func (c *Consumer) Ping(ctx context.Context) error { return c.cluster.Ping(ctx) }

// Joined says whether this member has joined its group since Run began.
func (c *Consumer) Joined() bool { return c.joined.Load() }

// inputTopic knows the id of an input topic that the positions of this group generation belong to. If a topic is
// deleted and recreated, an old position means another record: a member that went on from it would skip the
// records before it. The broker reports an error only if the new log is shorter.
type inputTopic struct {
	cluster *broker.Cluster
	name    string
	id      atomic.Pointer[wire.TopicID]

	lastServed wire.TopicID // id in the latest group generation
}

// wasRecreated asks a broker for the id of the topic, and says whether it differs from the id of this group
// generation. It returns false if no broker answers or brokers have no ids.
func (t *inputTopic) wasRecreated(ctx context.Context) bool {
	now, err := t.cluster.Topic(ctx, t.name)
	return err == nil && t.differs(now.ID)
}

func (t *inputTopic) differs(now wire.TopicID) bool {
	id := *t.id.Load()
	return id.Known() && now.Known() && id != now
}
