package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// options are the command line.
type options struct {
	rounds       int
	seed         uint64
	faults       []string
	scenario     string
	rate         int
	records      int
	processes    int
	brokers      int
	partitions   int
	binary       string
	redis        string
	redisAddrs   []string
	waitReplicas uint
	serviceFlags []string
	keep         bool
	patience     time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, _ := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// run is the whole command. It returns the exit code: 0 all well, 1 a promise was broken or a fault not shown, 2 the
// run could not be made.
func run(ctx context.Context, args []string, out io.Writer) (int, *summary) {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintln(out, err)
		return 2, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := newHost(ctx, cancel)
	s := &summary{faults: map[string]*count{}}
	done := make(chan error, 1)
	// In a goroutine of its own, because the servers end the calling goroutine when they fail.
	go func() {
		var err error
		defer func() { done <- err }()
		err = torture(h, o, s, out)
	}()
	err = <-done
	if cause := context.Cause(ctx); err == nil {
		err = cause
	}
	h.close()
	s.print(out)
	switch {
	case err != nil:
		fmt.Fprintln(out, "torture: the run could not be finished:", err)
		return 2, s
	case s.failed():
		return 1, s
	default:
		return 0, s
	}
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("torture", pflag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()), "seed of articles and schedule; default: the time")
	f.StringSliceVar(&o.faults, "faults", nil, "faults of a round, each as often as it is named; default for one broker and plain Redis: "+strings.Join(usual(options{brokers: 1, redis: plainRedis}), ","))
	f.StringVar(&o.scenario, "scenario", "", "a fixed schedule instead: "+strings.Join(scenarioNames(), ", "))
	f.IntVar(&o.rate, "rate", 500, "records published a second")
	f.IntVar(&o.records, "records", 3000, "least records of a round; publishing goes on until the last fault is over")
	f.IntVar(&o.processes, "processes", 3, "service processes")
	f.IntVar(&o.brokers, "brokers", 1, "1, or 3 that replicate")
	f.IntVar(&o.partitions, "partitions", 6, "partitions of the input topic at first")
	f.StringVar(&o.binary, "binary", "", "service to torture; default: built from this source")
	f.StringVar(&o.redis, "redis", plainRedis, "plain: one server; sentinel: a master and a replica under three sentinels; cluster: three masters and three replicas")
	f.StringSliceVar(&o.redisAddrs, "redis-addrs", nil, "addresses of a Redis that is not ours to break; default: our own")
	f.UintVar(&o.waitReplicas, "wait-replicas", 1, "redis.wait_replicas of the service processes under sentinel and cluster")
	f.StringArrayVar(&o.serviceFlags, "service-flag", nil, "one more argument for the service processes, such as --redis.pool_size=4")
	f.DurationVar(&o.patience, "patience", 90*time.Second, "how long nothing may move before what is missing counts as lost")
	f.BoolVar(&o.keep, "keep", false, "keep the logs of the processes even if all is well")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.scenario != "" {
		p, known := scenarios[o.scenario]
		if !known {
			return o, fmt.Errorf("unknown scenario %q, known: %s", o.scenario, strings.Join(scenarioNames(), ", "))
		}
		o.rounds, o.faults = 1, nil
		for _, steps := range p.lanes {
			for _, s := range steps {
				o.faults = append(o.faults, s.name)
			}
		}
	}
	if o.brokers != 1 && o.brokers != 3 {
		return o, errors.New("brokers must be 1 or 3")
	}
	if !slices.Contains([]string{plainRedis, sentinelRedis, clusterRedis}, o.redis) {
		return o, errors.New("redis must be plain, sentinel or cluster")
	}
	if o.faults == nil {
		o.faults = usual(o)
	}
	for _, name := range o.faults {
		if _, known := faults[name]; !known {
			return o, fmt.Errorf("unknown fault %q, known: %s", name, strings.Join(faultNames(), ", "))
		}
		if !o.suits(name) {
			return o, fmt.Errorf("fault %s is not for these servers", name)
		}
	}
	for name, v := range map[string]int{"rounds": o.rounds, "rate": o.rate, "records": o.records, "processes": o.processes, "partitions": o.partitions} {
		if v < 1 {
			return o, fmt.Errorf("%s must be at least 1", name)
		}
	}
	return o, nil
}

// torture makes all rounds.
func torture(h *host, o options, s *summary, out io.Writer) error {
	fmt.Fprintf(out, "seed %d\n", o.seed)
	w, err := newWorld(h, o, out)
	if err != nil {
		return err
	}
	for i := range o.rounds {
		if err := w.round(i+1, o.seed+uint64(i), s); err != nil {
			return fmt.Errorf("round %d (seed %d): %w", i+1, o.seed+uint64(i), err)
		}
	}
	return nil
}
