package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

// Output is a record of an output topic.
type Output struct {
	pipeline.OutputHeaders
	Record record.Record
}

// parse makes an Output of a record. The error is that of pipeline.ParseHeaders.
func parse(r record.Record) (*Output, error) {
	p, err := pipeline.ParseHeaders(r.Headers)
	if err != nil {
		return nil, err
	}
	return &Output{p, r}, nil
}

// ErrNoVerdict says that the output topics hold no verdict about a record.
var ErrNoVerdict = errors.New(
	"no verdict is in the output topics: the service has not decided it yet, or retention has removed the verdict")

// errForeign refuses a topic of another program.
var errForeign = errors.New("only the configured topics are read")

// Reader reads topics. Safe for concurrent use.
type Reader struct {
	OnlyConfigured bool // reads no other topics than those of the configuration; set before the first use
	// Topics are those in which verdicts are searched: the output topics, of a shadow its one topic. Who sets others
	// uses the Reader alone.
	Topics []string

	cfg      broker.Config
	decode   decode.Config
	out      io.Writer
	progress atomic.Pointer[progress]
	mu       sync.Mutex
	archives map[string]*tools.Archive // by topic
}

// NewReader returns a Reader, which the caller closes. It writes a line to out every few seconds while a search lasts.
func NewReader(cfg config.Config, out io.Writer) *Reader {
	return &Reader{cfg: cfg.Kafka, Topics: cfg.Kafka.Topics.Outputs(), decode: cfg.Input.Config, out: out,
		archives: map[string]*tools.Archive{}}
}

// Close closes the connections.
func (r *Reader) Close() {
	for _, a := range r.archives {
		a.Close()
	}
}

// archive returns the archive of a topic: of all configured topics one, and of each other topic its own.
func (r *Reader) archive(topic string) (*tools.Archive, error) {
	topics := r.cfg.Topics.All()
	if !slices.Contains(topics, topic) {
		if r.OnlyConfigured {
			return nil, fmt.Errorf("%w, and %q is none of them", errForeign, topic)
		}
		topics = []string{topic}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.archives[topics[0]]; a != nil {
		return a, nil
	}
	a, err := tools.NewArchive(r.cfg, topics...)
	if err == nil {
		r.archives[topics[0]] = a
	}
	return a, err
}

// Fetch returns one record, of an input topic or an output topic. The error is tools.ErrNoRecord if Kafka does not
// have it.
func (r *Reader) Fetch(ctx context.Context, c article.Coordinates) (record.Record, error) {
	a, err := r.archive(c.Topic)
	if err != nil {
		return record.Record{}, err
	}
	offsets, err := a.Offsets(ctx, c.Topic, c.Partition)
	if err != nil {
		return record.Record{}, err
	}
	if c.Offset < offsets.First || c.Offset >= offsets.Next {
		return record.Record{}, fmt.Errorf("%s: %w (the partition has %d to %d)", c, tools.ErrNoRecord,
			offsets.First, offsets.Next-1)
	}
	return a.Record(ctx, c)
}

// errStop ends a read early.
var errStop = errors.New("stop")

// Verdict finds what was published about an input record: the first output with its coordinates, or
// ErrNoVerdict. at is the record's timestamp, or zero if it is not known; then whole partitions are searched.
//
// The outputs of an input partition are in one partition of each output topic, in input order, and have the
// timestamps of the input. So the search begins at the first output that is not older, and ends at the first
// output of a later record. A record that was delivered again has another output further on, with the same
// verdict. Partitions from before output partitions were added are searched last.
func (r *Reader) Verdict(ctx context.Context, input article.Coordinates, at time.Time) (found *Output, err error) {
	defer files.ShowLine(r.out, r.line)()
	var now, before []article.Coordinates
	for _, topic := range r.Topics {
		n, err := r.partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for had, tried := n, map[int32]bool{}; had > 0; had-- {
			p := delivery.OutputPartition(input.Partition, had)
			switch place := (article.Coordinates{Topic: topic, Partition: p}); {
			case had == n:
				now = append(now, place)
			case !tried[p]:
				before = append(before, place)
			}
			tried[p] = true
		}
	}
	for _, place := range append(now, before...) {
		if err = r.scan(ctx, place, at, func(o *Output) error {
			switch c := o.Input; {
			case c == input:
				found = o
				return errStop
			case c.Topic == input.Topic && c.Partition == input.Partition && c.Offset > input.Offset:
				return errStop
			}
			return nil
		}); found != nil || err != nil {
			return found, err
		}
	}
	return nil, fmt.Errorf("%s: %w", input, ErrNoVerdict)
}

// mostFound bounds the other outputs that ByID names.
const mostFound = 100

// ByID finds the latest output about an article with an id that is not older than since, nil if there is none, and the
// coordinates of outputs about other articles with it. It reads all output topics from there to their ends.
func (r *Reader) ByID(ctx context.Context, id string, since time.Time) (latest *Output, others []string, err error) {
	for _, topic := range r.Topics {
		if err := r.Each(ctx, topic, since, func(o *Output) error {
			if !r.hasID(o, id) {
				return nil
			}
			if latest == nil || cmp.Or(o.Record.Time.Compare(latest.Record.Time),
				cmp.Compare(o.Input.Offset, latest.Input.Offset)) > 0 {
				latest, o = o, latest
			}
			if o != nil && o.Input != latest.Input && len(others) < mostFound {
				others = append(others, o.Record.String())
			}
			return nil
		}); err != nil {
			return nil, nil, err
		}
	}
	return latest, others, nil
}

// Each calls fn with the outputs of a topic that are not older than since, partition by partition, up to the
// ends that the partitions have when it comes to them. It ends with the first error of fn.
func (r *Reader) Each(ctx context.Context, topic string, since time.Time, fn func(*Output) error) error {
	defer files.ShowLine(r.out, r.line)()
	n, err := r.partitions(ctx, topic)
	for p := int32(0); int(p) < n && err == nil; p++ {
		err = r.scan(ctx, article.Coordinates{Topic: topic, Partition: p}, since, fn)
	}
	return err
}

// partitions returns the number of partitions of a topic.
func (r *Reader) partitions(ctx context.Context, topic string) (int, error) {
	a, err := r.archive(topic)
	if err != nil {
		return 0, err
	}
	return a.Partitions(ctx, topic)
}

// scan calls fn with the outputs in a partition, from the first one on that is not older than since. Other records are
// passed over. The partition ends without error when fn returns errStop.
func (r *Reader) scan(ctx context.Context, from article.Coordinates, since time.Time, fn func(*Output) error) error {
	a, err := r.archive(from.Topic)
	if err != nil {
		return err
	}
	ms := max(0, since.UnixMilli()) // Kafka takes negative times for requests of another kind
	from.Offset, err = a.OffsetAt(ctx, from.Topic, from.Partition, time.UnixMilli(ms))
	if err != nil {
		return err
	}
	offsets, err := a.Offsets(ctx, from.Topic, from.Partition)
	if err != nil || from.Offset < 0 { // there is none
		return err
	}
	read := int64(0)
	err = a.Read(ctx, from, offsets.Next, func(rec *record.Record) error {
		read++
		share := 100 * (rec.Offset - from.Offset) / (offsets.Next - from.Offset)
		r.progress.Store(&progress{rec.Coordinates, share, read})
		o, err := parse(*rec)
		if err != nil {
			return nil //nolint:nilerr // a record that somebody else published is no verdict
		}
		return fn(o)
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// hasID says whether an output is about an article with the id. Headers name the ids of other articles, and
// that of an article that is its own root.
func (r *Reader) hasID(o *Output, id string) bool {
	if o.Verdict.Root.Coordinates == o.Input {
		return o.Verdict.Root.ID == id
	}
	rec := o.Record
	rec.Coordinates = o.Input
	content, _ := r.decode.Decode(&rec)
	return content.ID == id
}

// progress is how far the searches of a Reader have come.
type progress struct {
	at    article.Coordinates // of the last record that was read
	share int64               // of its partition that is read, in percent
	count int64               // records read so far
}

// line describes the progress; it is empty if nothing was read yet.
func (r *Reader) line(time.Duration) string {
	p := r.progress.Load()
	if p == nil {
		return ""
	}
	return fmt.Sprintf("searching %s/%d: %d%% (%s so far)", p.at.Topic, p.at.Partition, p.share,
		visible.Count(p.count, "record"))
}
