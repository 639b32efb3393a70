package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/recipe"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
)

// world is what all rounds share: the servers and the service to run.
type world struct {
	host   *host
	o      options
	out    io.Writer
	begin  time.Time
	recipe *recipe.Recipe
	binary string
	dir    string // logs

	brokers     []*kafkaserver.Server
	kafkaAddrs  []string
	kafkaClient *kgo.Client
	admin       *kadm.Client
	redisServer *redisserver.Server // one of redisServer, sentinel and cluster, unless Redis is not ours
	sentinel    *redisserver.Sentinel
	cluster     *redisserver.Cluster
	redisAddrs  []string
	redis       redis.UniversalClient
	redisNet    network // empty: there are no proxies
	kafkaNet    network
}

// direct says that there are no proxies: comparisons with other systems measure no network of ours.
func (w *world) direct() bool { return w.o.scenario != "" }

// startKafka starts one broker, or several that replicate.
func (w *world) startKafka() {
	front := w.front("kafka", &w.kafkaNet)
	if w.o.brokers > 1 {
		w.brokers = kafkaserver.StartClusterBehind(w.host, front, kafkaserver.V4, w.o.brokers).Servers
	} else {
		w.brokers = []*kafkaserver.Server{kafkaserver.StartBehind(w.host, front, kafkaserver.V4)}
	}
	for _, s := range w.brokers {
		w.kafkaAddrs = append(w.kafkaAddrs, strings.Split(s.Addr, ",")...)
	}
}

// serviceKafka is where the service processes find the brokers.
func (w *world) serviceKafka() string {
	var addrs []string
	for _, s := range w.brokers {
		addrs = append(addrs, s.Reached)
	}
	return strings.Join(addrs, ",")
}

func newWorld(h *host, o options, out io.Writer) (*world, error) {
	w := &world{host: h, o: o, out: out, begin: time.Now(), binary: o.binary}
	var err error
	if w.dir, err = os.MkdirTemp("", "echosieve-torture-logs-*"); err != nil {
		return nil, err
	}
	if w.binary == "" {
		if w.binary, err = build(h.ctx, h.TempDir()); err != nil {
			return nil, err
		}
	}
	if w.recipe, err = recipe.Load(recipe.DefaultConfig()); err != nil {
		return nil, err
	}
	w.startRedis()
	w.startKafka()
	if w.kafkaClient, err = kgo.NewClient(kgo.SeedBrokers(w.kafkaAddrs...)); err != nil {
		return nil, err
	}
	h.Cleanup(w.kafkaClient.Close)
	w.admin = kadm.NewClient(w.kafkaClient)
	return w, nil
}

// build makes the service as it is in this source, with its crash points.
func build(ctx context.Context, dir string, args ...string) (string, error) {
	binary := filepath.Join(dir, "echosieve")
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-trimpath", "-tags", "crashpoints", "-o", binary}, args, []string{"echosieve/cmd/echosieve"})...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service: %w\n%s", err, output)
	}
	return binary, nil
}

// say writes a line of progress.
func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.out, "%7.1fs  %s\n", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}
