// Package rig holds the parts that the rounds of the fault runner and its faults share: the servers, the
// service processes of a round, and outages that every process must notice and report.
package rig

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/recipe"
	"echosieve/test/articles"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
)

// Options say which servers and processes a run has.
type Options struct {
	BrokerCount int    // 1 or 3
	Partitions  int    // of the input topic at first, and of each output topic
	Processes   int    // of the service
	Binary      string // of the service; empty: built from this source
	// Old is another binary of the service, or the commit from which it is built. Processes of both make up one group:
	// see Round.ReplaceNext. Empty: all processes have Binary.
	Old string
	// RedisKind is PlainRedis, SentinelRedis or ClusterRedis.
	RedisKind    string
	ServiceFlags []string // more arguments of the processes
	// Stories says that the processes are those of the role of stories. One service, whose process no fault touches,
	// decides what they read.
	Stories bool
}

// Rig is the servers of a run and the runner's clients of them. All rounds share it.
type Rig struct {
	Options
	Host   *host.Host
	Recipe *recipe.Recipe
	Dir    string // of the logs

	Kafka
	Redis

	out   io.Writer
	begin time.Time
}

// Kafka is the brokers of a run.
type Kafka struct {
	Brokers     []*kafkaserver.Server
	KafkaAddrs  []string // of the brokers themselves, past the proxies
	KafkaClient *kgo.Client
	Admin       *kadm.Client
	KafkaNet    Network
}

// Redis is the servers of Redis that a run has.
type Redis struct {
	RedisServer *redisserver.Server // with PlainRedis; else nil
	Sentinel    *redisserver.Sentinel
	Cluster     *redisserver.Cluster
	RedisClient redis.UniversalClient
	RedisNet    Network
	redisAddrs  []string // where the processes find Redis
}

// New starts the servers. The host ends them. Progress is written to out.
func New(h *host.Host, o Options, out io.Writer) (*Rig, error) {
	g := &Rig{Options: o, Host: h, out: out, begin: time.Now()}
	var err error
	if g.Dir, err = logFolder(h); err != nil {
		return nil, err
	}
	if g.Binary == "" {
		if g.Binary, err = Build(h.Context(), h.TempDir()); err != nil {
			return nil, err
		}
	}
	if g.Old != "" {
		if g.Old, err = buildOld(h.Context(), g.Old, h.TempDir()); err != nil {
			return nil, err
		}
	}
	if g.Recipe, err = recipe.Load(recipe.DefaultConfig()); err != nil {
		return nil, err
	}
	g.startRedis()
	g.startKafka()
	if g.KafkaClient, err = kgo.NewClient(kgo.SeedBrokers(g.KafkaAddrs...), kgo.AlwaysRetryEOF()); err != nil {
		return nil, err
	}
	h.Cleanup(g.KafkaClient.Close)
	g.Admin = kadm.NewClient(g.KafkaClient)
	return g, nil
}

// logFolder makes the folder of the logs. The host removes it at the end if no round has left its logs there.
func logFolder(h *host.Host) (string, error) {
	dir, err := os.MkdirTemp("", "echosieve-torture-logs-*")
	if err == nil {
		h.Cleanup(func() { _ = os.Remove(dir) }) // fails for a folder that holds logs
	}
	return dir, err
}

// startKafka starts one broker, or several that replicate.
func (g *Rig) startKafka() {
	front := g.KafkaNet.Front(g.Host, "kafka")
	if g.BrokerCount > 1 {
		g.Brokers = kafkaserver.StartClusterBehind(g.Host, front, kafkaserver.V4, g.BrokerCount).Servers
	} else {
		g.Brokers = []*kafkaserver.Server{kafkaserver.StartBehind(g.Host, front, kafkaserver.V4, kafkaserver.Killable())}
	}
	for _, s := range g.Brokers {
		g.KafkaAddrs = append(g.KafkaAddrs, strings.Split(s.Addr, ",")...)
	}
}

// NewWriter returns a writer of articles as the processes read them.
func (g *Rig) NewWriter(seed uint64, prefix string, mixed bool) *articles.Writer {
	return articles.NewWriter(seed, prefix, g.Recipe, mixed)
}

// serviceKafka is where the service processes find the brokers.
func (g *Rig) serviceKafka() string {
	var addrs []string
	for _, s := range g.Brokers {
		addrs = append(addrs, s.Reached)
	}
	return strings.Join(addrs, ",")
}

// Build builds the service of this source, with its crash points, and returns the path of the binary. args
// are more arguments of go build.
func Build(ctx context.Context, dir string, args ...string) (string, error) {
	binary := filepath.Join(dir, "echosieve")
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-trimpath", "-tags", "crashpoints", "-o",
		binary}, args, []string{"echosieve/cmd/echosieve"})...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service: %w\n%s", err, output)
	}
	return binary, nil
}

// buildOld returns the path of a binary: old itself, or what it builds in a folder from a commit of the repository
// around the working directory.
func buildOld(ctx context.Context, old, dir string) (string, error) {
	if _, err := os.Stat(old); err == nil {
		return filepath.Abs(old)
	}
	script := `git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$2" && cd "$2" &&
		go build -trimpath -tags crashpoints -o "$2/echosieve" ./cmd/echosieve`
	if output, err := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script, "bash", old, dir).
		CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service of commit %s: %w\n%s", old, err, output)
	}
	return filepath.Join(dir, "echosieve"), nil
}

// Say writes a line of progress.
func (g *Rig) Say(format string, args ...any) {
	fmt.Fprintf(g.out, "%7.1fs  %s\n", time.Since(g.begin).Seconds(), fmt.Sprintf(format, args...))
}

// The kinds of Redis that a run can have.
const (
	PlainRedis    = "plain"    // one server
	SentinelRedis = "sentinel" // a master and a replica under three sentinels
	ClusterRedis  = "cluster"  // three masters with a replica each
)

// startRedis starts the servers that the options ask for, and a client for the runner.
func (g *Rig) startRedis() {
	front := g.RedisNet.Front(g.Host, "redis")
	switch g.RedisKind {
	case ClusterRedis:
		g.Cluster = redisserver.StartClusterBehind(g.Host, front, 3, 1)
		g.redisAddrs = g.Cluster.Addrs()
	case SentinelRedis:
		g.Sentinel = redisserver.StartSentinelBehind(g.Host, front)
		g.redisAddrs = g.Sentinel.Addrs()
	default:
		g.RedisServer = redisserver.StartBehind(g.Host, front, "--appendonly", "yes", "--appendfsync", "always",
			"--maxmemory-policy", "noeviction")
		g.redisAddrs = []string{g.RedisServer.Addr}
	}
	dialer := net.Dialer{Timeout: time.Second}
	o := &redis.UniversalOptions{
		Addrs: g.redisAddrs, IsClusterMode: g.RedisKind == ClusterRedis,
		MaxRetries: -1, DialerRetries: 1,
		// go-redis 9 answers with earlier failures for a second once as many attempts to connect have failed
		// as the pool has places: a large pool keeps it trying.
		PoolSize: 10_000,
		// On a busy machine a healthy server may take seconds to answer.
		ReadTimeout: ReadyTimeout, WriteTimeout: ReadyTimeout, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, g.RedisNet.Past(addr))
		},
	}
	if g.RedisKind == SentinelRedis {
		o.MasterName = redisserver.MasterName
	}
	g.RedisClient = redis.NewUniversalClient(o)
	g.Host.Cleanup(func() { _ = g.RedisClient.Close() })
}

// redisFlags are the arguments that tell a service process where Redis is.
func (g *Rig) redisFlags() []string {
	var flags []string
	for _, addr := range g.redisAddrs {
		flags = append(flags, "--redis.addrs", addr)
	}
	switch g.RedisKind {
	case ClusterRedis:
		flags = append(flags, "--redis.cluster")
	case SentinelRedis:
		flags = append(flags, "--redis.master_name", redisserver.MasterName)
	default:
		return flags
	}
	return append(flags, "--redis.wait_replicas", "1")
}

// EachMaster calls do for each server that accepts writes, one after another.
func (g *Redis) EachMaster(ctx context.Context, do func(*redis.Client) error) error {
	cluster, ok := g.RedisClient.(*redis.ClusterClient)
	if !ok {
		return do(g.RedisClient.(*redis.Client))
	}
	var one sync.Mutex
	return cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return do(master)
	})
}

// silent discards the messages that go-redis writes by itself about servers that are away.
type silent struct{}

// Printf implements the logger of go-redis.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }
