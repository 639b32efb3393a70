package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"echosieve/test/host"
	"echosieve/test/torture/internal/faults"
	"echosieve/test/torture/internal/rig"
)

// options are the command line.
type options struct {
	rig.Options
	rounds   int
	seed     uint64
	faults   []string
	rate     int
	records  int
	patience time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, _ := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// run is the whole command. It returns the exit code: see doc.go.
func run(ctx context.Context, args []string, out io.Writer) (int, *rig.Summary) {
	o, err := parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0, nil
	case err != nil:
		fmt.Fprintln(out, err)
		return 2, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := host.New(ctx, cancel)
	s := rig.NewSummary()
	if stopped := h.Do(func() { err = torture(h, &o, s, out) }); err == nil {
		err = stopped
	}
	h.Close()
	s.Print(out)
	switch {
	case err != nil:
		fmt.Fprintln(out, "torture: the run could not be finished:", err)
		return 2, s
	case s.Failed():
		return 1, s
	default:
		return 0, s
	}
}

// torture makes all rounds.
func torture(h *host.Host, o *options, s *rig.Summary, out io.Writer) error {
	fmt.Fprintf(out, "seed %d\n", o.seed)
	g, err := rig.New(h, o.Options, out)
	if err != nil {
		return err
	}
	for i := range o.rounds {
		if err := runRound(g, o, i+1, o.seed+uint64(i), s); err != nil {
			return fmt.Errorf("round %d (seed %d): %w", i+1, o.seed+uint64(i), err)
		}
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	f := flags(&o)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, o.check()
}

func flags(o *options) *pflag.FlagSet {
	f := pflag.NewFlagSet("torture", pflag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()),
		"seed of the articles and of the schedule; default: the time")
	f.StringSliceVar(&o.faults, "faults", nil,
		"faults of a round; a fault that is named twice happens twice; default: each usual fault of these servers once")
	f.IntVar(&o.rate, "rate", 500, "records published a second")
	f.IntVar(&o.records, "records", 3000,
		"fewest records of a round; publishing continues until the last fault is over")
	f.IntVar(&o.Processes, "processes", 3, "number of service processes")
	f.IntVar(&o.BrokerCount, "brokers", 1, "number of Kafka brokers: 1, or 3 that replicate")
	f.IntVar(&o.Partitions, "partitions", 6, "partitions of the input topic at the start of a round")
	f.StringVar(&o.Binary, "binary", "",
		"service binary to test, built with -tags crashpoints (else the crash faults do not fire); default: built "+
			"from this source")
	f.StringVar(&o.Old, "upgrade", "",
		"binary or commit of another version with the same recipe and layout: processes of both are in one group, replaced "+
			"one by one, and back again")
	f.StringVar(&o.RedisKind, "redis", rig.PlainRedis,
		"plain: one server; sentinel: a master and a replica under three sentinels; cluster: three masters and "+
			"three replicas")
	f.BoolVar(&o.Stories, "stories", false,
		"the processes are those of `echosieve stories`, behind one service that only faults of servers touch")
	f.StringArrayVar(&o.ServiceFlags, "service-flag", nil,
		"one more argument for the service processes, such as --kafka.compression=zstd")
	f.DurationVar(&o.patience, "patience", 5*time.Minute,
		"missing records count as lost once no new verdict has come for so long")
	f.Usage = func() {
		fmt.Fprintf(os.Stderr, "Usage: torture [flags]\n\n%s\nFaults (* usual with one broker and plain Redis):\n",
			f.FlagUsages())
		t := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
		defer t.Flush()
		usual := faults.Usual(rig.Options{BrokerCount: 1, RedisKind: rig.PlainRedis})
		for _, name := range faults.Names() {
			mark := " "
			if slices.Contains(usual, name) {
				mark = "*"
			}
			fmt.Fprintf(t, "%s %s\t%s\n", mark, name, faults.All[name].About)
		}
	}
	return f
}

// check validates the options and fills in the usual faults.
func (o *options) check() error {
	if o.BrokerCount != 1 && o.BrokerCount != 3 {
		return errors.New("brokers must be 1 or 3")
	}
	if !slices.Contains([]string{rig.PlainRedis, rig.SentinelRedis, rig.ClusterRedis}, o.RedisKind) {
		return errors.New("redis must be plain, sentinel or cluster")
	}
	if o.Stories && o.RedisKind != rig.PlainRedis {
		return errors.New("stories need plain Redis")
	}
	if o.faults == nil {
		o.faults = faults.Usual(o.Options)
	}
	for _, name := range o.faults {
		f, known := faults.All[name]
		if !known {
			return fmt.Errorf("unknown fault %q, known: %s", name, strings.Join(faults.Names(), ", "))
		}
		if !f.Suits(o.Options) {
			return fmt.Errorf("fault %s cannot happen to these servers", name)
		}
	}
	atLeastOne := map[string]int{"rounds": o.rounds, "rate": o.rate, "records": o.records, "processes": o.Processes,
		"partitions": o.Partitions}
	for _, name := range slices.Sorted(maps.Keys(atLeastOne)) {
		if atLeastOne[name] < 1 {
			return fmt.Errorf("%s must be at least 1", name)
		}
	}
	return nil
}
