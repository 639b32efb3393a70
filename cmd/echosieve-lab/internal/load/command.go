// Package load is the command load. It publishes articles at a given rate and measures what a user of the
// service sees: the time from the timestamp of a record until its verdict can be read, the number of verdicts
// a second, and the CPU time and memory of the service.
//
// It publishes evenly during warm-up and duration, reads the output topics meanwhile, and then waits
// for the verdict of every published record. A header numbers the records; the service copies it to the
// output, as it does with all headers that are not its own. Records without a verdict are reported as
// missing.
//
// The rate fixes beforehand when each record is due, and that moment is the timestamp of the record. If a
// slow broker holds up the publisher, records are published late, and the time by which they are late counts
// as delay.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/files"
	"echosieve/app/produce"
	"echosieve/app/visible"
)

const help = `Load publishes articles evenly at --rate, reads the output topics and prints how many verdicts a second
came back, the delay from an article's record timestamp until its verdict could be read, and the CPU
time, memory and lag of the service. It waits for the verdict of every published record; if any is
missing, the exit code is 1.

By default an in-process Kafka and Redis on loopback ports are used. The service runs in a separate process, so
its start and its memory are measured as in production. Its binary is echosieve beside echosieve-lab, or
--service PATH. The in-process servers take CPU time on the same machine, are slower than real ones and keep all
records in memory: at most 200,000. Settings of detection, input and of the service's sizes are taken from the
configuration.

With --real, Kafka and Redis of the configuration are used. The articles go into kafka.topics.input, and all
readers of the output topics get their verdicts: set topics, a kafka.group and a redis.namespace that are only
for tests. Load starts a service process there, too.

The articles are reports of invented events, without end; --copies is the share that repeats an earlier article,
half of them exactly.

Exit codes: 0 every record has a verdict; 1 some have none; 2 failed or interrupted.`

// flags holds the values of the flags that are no settings.
type flags struct {
	plan    Plan
	copies  float64
	seed    uint64
	real    bool
	service string // path of the service binary
	json    *bool
}

// Command returns the command load.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure delay, memory and CPU of the service at a given rate",
		Long:  help,
		Example: `  echosieve-lab load --rate 200 --duration 30s
  echosieve-lab load --real --config test.yaml --rate 1000`,
		Args: command.NoArgs,
	}
	fs := cmd.Flags()
	fs.Float64Var(&f.plan.Rate, "rate", 100, "records per second")
	schema.DurationFlagVar(fs, &f.plan.Duration, "duration", 20*time.Second, "how long is measured")
	schema.DurationFlagVar(fs, &f.plan.Warmup, "warmup", 3*time.Second,
		"how long records are published before that; they need verdicts, too, but their delay is not measured")
	schema.DurationFlagVar(fs, &f.plan.Idle, "idle", 3*time.Second,
		"how long the started service is without load before its idle memory is read")
	schema.DurationFlagVar(fs, &f.plan.Patience, "patience", 30*time.Second,
		"the command gives up missing verdicts when none has come for this long")
	fs.Float64Var(&f.copies, "copies", .3, "share of the articles that are copies, 0 to 1")
	fs.Uint64Var(&f.seed, "seed", 0, "the same seed makes the same articles; 0: new articles each time")
	fs.BoolVar(&f.real, "real", false, "use the Kafka and the Redis of the configuration")
	fs.StringVar(&f.service, "service", "",
		"path of the service binary that load starts (default: echosieve beside this program)")
	f.json = command.AddJSONFlag(cmd)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		if err := f.validate(cfg); err != nil {
			return err
		}
		report, err := f.run(cmd.Context(), cfg, cmd.ErrOrStderr())
		return f.answer(cmd, report, err)
	})
}

func (f *flags) validate(cfg config.Config) error {
	if f.copies < 0 || f.copies > 1 {
		return fmt.Errorf("--copies is %g, must be between 0 and 1", f.copies)
	}
	if err := files.PublishesJSON(cfg.Input.Config); err != nil {
		return err
	}
	return f.plan.validate(f.real)
}

// run starts the service, and the servers unless --real is given, measures, and stops what it has started.
func (f *flags) run(ctx context.Context, cfg config.Config, progress io.Writer) (report Report, err error) {
	if f.seed == 0 {
		f.seed = rand.Uint64()
	}
	m := &measurement{Plan: f.plan, source: NewFeed("load", f.copies, f.seed), progress: progress,
		report: Report{Servers: "configured"}}
	switch {
	case f.real && cfg.Kafka.CreateTopics: // all of them: the verdicts are read, too
		err = EnsureTopics(ctx, cfg.Kafka)
	case f.real:
		err = produce.Ready(ctx, cfg, progress)
	default:
		var inProcess *Servers
		if inProcess, err = StartServers(); err == nil {
			defer inProcess.Close()
			m.report.Servers, cfg = "in-process", inProcess.Configure(cfg)
			err = EnsureTopics(ctx, cfg.Kafka)
		}
	}
	if err != nil {
		return report, err
	}
	m.kafka = cfg.Kafka
	if m.service, err = startService(f.service, cfg, progress); err != nil {
		return report, err
	}
	defer m.service.child.Stop(stopTimeout)
	return m.run(ctx)
}

// answer prints the report unless it is empty, and returns the error of the command.
func (f *flags) answer(cmd *cobra.Command, report Report, err error) error {
	if report.Published > 0 {
		err = errors.Join(command.Print(cmd, *f.json, report, report.text), err)
	}
	switch {
	case report.Interrupted || errors.Is(err, context.Canceled):
		return errors.New("interrupted: the figures cover the time until then")
	case err != nil:
		return err
	case report.Missing > 0:
		return &command.AnswerError{Text: visible.Count(report.Missing, "published record") + " without a verdict"}
	}
	return nil
}
