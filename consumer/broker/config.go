package broker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/remote"
	"echosieve/pipeline/article"
)

// Config says which cluster, topics and group to use, and how many records and bytes may be in flight. The
// setting tags are the keys below "kafka", and the help tags are their documentation.
type Config struct {
	Brokers []string `setting:"brokers" help:"Brokers (host:port) to start from."`
	Rack    string   `setting:"rack"`
	Group   string   `setting:"group"`
	Topics  Topics   `setting:"topics"`

	CreateTopics bool `setting:"create_topics" help:"Create missing topics at start. false: a missing topic is an error."`
	Partitions   int  `setting:"partitions" range:"1..100000" help:"Partitions of created topics."`
	Replication  int  `setting:"-"`

	MaxMessageBytes int           `setting:"max_message_bytes" range:"16KiB..1GiB"`
	FetchMaxBytes   int           `setting:"-"`
	FetchMaxWait    time.Duration `setting:"-"` // longest time that a broker holds a fetch back for new records
	Compression     string        `setting:"compression"`

	CommitInterval time.Duration `setting:"commit_interval" hidden:"true" range:"10ms..1h"`
	SessionTimeout time.Duration `setting:"session_timeout" range:"1s..30m"`
	DrainTimeout   time.Duration `setting:"-"`

	Delivery              string `setting:"delivery"`
	TransactionalIDPrefix string `setting:"transactional_id_prefix" hidden:"true"`

	BatchRecords       int `setting:"-"`
	MaxInFlightRecords int `setting:"-"`
	MaxInFlightBytes   int `setting:"max_in_flight_bytes" range:"1MiB..1TiB"`

	TLS  remote.TLS `setting:"tls"`
	SASL SASL       `setting:"sasl"`
}

// Topics are the names of the input topics and of the output topics. All are different.
type Topics struct {
	Inputs    []string `setting:"input"`
	Unique    string   `setting:"unique" help:"Topic for articles that repeat nothing in the window."`
	Duplicate string   `setting:"duplicate" help:"Topic for near and exact copies."`
	Possible  string   `setting:"possible"`
	Dead      string   `setting:"dead" help:"Topic for records that cannot be processed."`
	// Shadow is set for a shadow: it publishes all outputs to this topic and uses no other output topic.
	// Package config sets it; it is no setting.
	Shadow string `setting:"-"`
	// SnapshotsFor, unless 0, says that the topic Shadow holds a snapshot for each key. It is created with one partition,
	// compacted, and keeps a snapshot for so long.
	SnapshotsFor time.Duration `setting:"-"`
	// Learnt, unless empty, is the topic in which processes share what they have learnt (package learning). It has one
	// partition, is compacted, and brokers stamp its records. Package config sets it.
	Learnt string `setting:"-"`
}

// All returns the names of the topics that this process reads and publishes to, inputs first. What is learnt has its
// own: see Learnt.
func (t Topics) All() []string { return slices.Concat(t.Inputs, t.Outputs()) }

// First returns the first input topic, after which others are named by default; empty: there is none.
func (t Topics) First() string {
	if len(t.Inputs) == 0 {
		return ""
	}
	return t.Inputs[0]
}

// Outputs returns the names of the topics that this process publishes to.
func (t Topics) Outputs() []string {
	if t.Shadow != "" { // that of stories reads the outputs of the service
		return []string{t.Shadow}
	}
	names := []string{t.Unique, t.Duplicate, t.Dead}
	if t.Possible != "" {
		names = append(names, t.Possible)
	}
	return names
}

// twice names two topics that have one name; empty: there are none.
func (t Topics) twice() string {
	names := t.All()
	key := func(i int) string {
		return []string{"input", "unique", "duplicate", "dead", "possible"}[max(i-len(t.Inputs)+1, 0)]
	}
	for i, name := range names {
		if j := slices.Index(names, name); j < i && name != "" {
			return "topics." + key(j) + " and kafka.topics." + key(i)
		}
	}
	return ""
}

// Destinations returns the topic of each destination; empty: no topic of its own.
func (t Topics) Destinations() [article.DestinationCount]string {
	if t.Shadow != "" {
		return [...]string{article.ToShadow: t.Shadow}
	}
	return [...]string{
		article.ToUnique: t.Unique, article.ToPossible: t.Possible, article.ToDuplicate: t.Duplicate,
		article.ToDead: t.Dead, article.ToShadow: "",
	}
}

// DefaultConfig returns a configuration for a broker on this machine.
func DefaultConfig() Config {
	return Config{
		Brokers: []string{"localhost:9092"},
		Group:   "echosieve",
		Topics: Topics{
			Inputs: []string{"articles"}, Unique: "articles-unique", Duplicate: "articles-duplicate", Dead: "articles-dead",
		},
		Partitions:         6,
		Replication:        -1,
		MaxMessageBytes:    1 << 20,
		FetchMaxBytes:      1 << 20,
		FetchMaxWait:       500 * time.Millisecond,
		Compression:        "lz4",
		CommitInterval:     500 * time.Millisecond,
		SessionTimeout:     10 * time.Second,
		DrainTimeout:       5 * time.Second,
		BatchRecords:       256,
		MaxInFlightRecords: 8192,
		MaxInFlightBytes:   16 << 20,
	}
}

// The values of kafka.delivery. The empty one is ExactlyOnce where brokers and rights allow it, otherwise AtLeastOnce.
const (
	ExactlyOnce = "exactly_once"
	AtLeastOnce = "at_least_once"
)

// Validate returns all mistakes that show without dialling or reading files. The ranges of numbers are in the
// tags of the fields; package config checks them.
func (c Config) Validate() error {
	_, isCodec := wire.CodecNamed(c.Compression)
	named := c.SASL.Mechanism != "" && c.SASL.TokenFile == "" // the login is a user name with a password
	oauthKey, oauthWhy := c.SASL.validOAuth()
	var errs []error
	for _, f := range []struct {
		key string
		ok  bool
		why string
	}{
		{"brokers", len(c.Brokers) > 0, "needs at least one address"},
		{"group", c.Group != "", "must not be empty"},
		{
			"topics.input", len(c.Topics.Inputs) > 0 && !slices.Contains(c.Topics.Inputs, ""),
			"must not be empty, nor hold an empty name",
		},
		{"topics.unique", c.Topics.Unique != "", "must not be empty"},
		{"topics.duplicate", c.Topics.Duplicate != "", "must not be empty"},
		{"topics.dead", c.Topics.Dead != "", "must not be empty"},
		{c.Topics.twice(), c.Topics.twice() == "", "have the same name: each needs its own"},
		{"compression", isCodec, "must be none, gzip, snappy, lz4 or zstd"},
		{
			"delivery", slices.Contains([]string{"", ExactlyOnce, AtLeastOnce}, c.Delivery),
			"must be exactly_once, at_least_once or empty",
		},
		{"sasl.mechanism", slices.Contains([]string{"", "plain", "scram-sha-256", "scram-sha-512", mechanismOAuth},
			c.SASL.Mechanism), "must be plain, scram-sha-256, scram-sha-512, oauthbearer or empty"},
		{"sasl", c.SASL.Mechanism != "" || c.SASL == SASL{}, "has settings but sasl.mechanism is empty"},
		{oauthKey, oauthWhy == "", oauthWhy},
		{"sasl.username", !named || c.SASL.Username != "", "must not be empty"},
		{"sasl.password", !named || c.SASL.Password != "", "or sasl.password_file must be set"},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("kafka.%s %s", f.key, f.why))
		}
	}
	for _, address := range c.Brokers {
		if err := remote.CheckAddress(address, "9092"); err != nil {
			errs = append(errs, fmt.Errorf("kafka.brokers %w", err))
		}
	}
	if err := c.TLS.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("kafka.%w", err))
	}
	return errors.Join(errs...)
}

// MaxFetchBytes is the size of the largest fetch response that is read. Brokers send the first batch whole,
// however large, so it is larger than FetchMaxBytes. For example, with the defaults of 1 MiB for both
// settings it is 65 MiB.
func (c Config) MaxFetchBytes() int {
	return c.FetchMaxBytes + min(max(64<<20, 32*c.MaxMessageBytes), 1<<30)
}
