package service

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"echosieve/app/config"
	"echosieve/pipeline/article"
)

// reloadable lists the settings that a running service takes over, and how. A name stands for a setting, or
// for all settings of a section. Every other setting needs a restart.
//
// kafka.topics is not in the list. At start, the service checks that each output topic exists and may be
// written, and learns its partitions. A topic that was never checked could refuse records, and its partition
// of the input would stop.
var reloadable = []struct {
	name  string
	apply func(*reloader, *config.Config)
}{
	{"log.level", func(r *reloader, c *config.Config) { r.level.Set(c.Log.SlogLevel()) }},
	{"policy", func(r *reloader, c *config.Config) { r.setPolicy(c.Policy) }},
}

// The values of the label outcome of echosieve_config_reloads_total.
const (
	reloadApplied   = "applied"
	reloadUnchanged = "unchanged"
	reloadRefused   = "refused" // a setting has changed that needs a restart
	reloadInvalid   = "invalid" // the configuration has mistakes
)

// reloader loads the configuration again when a signal arrives, and applies all changes or none.
type reloader struct {
	log      *slog.Logger
	outcomes *prometheus.CounterVec
	running  config.Config // the configuration in force

	signals   <-chan os.Signal // nil: never
	load      func() (config.Config, error)
	level     *slog.LevelVar
	setPolicy func(article.Policy) // of the index
}

func newReloader(cfg config.Config, reg prometheus.Registerer, log *slog.Logger) *reloader {
	r := &reloader{running: cfg, log: log, outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "echosieve_config_reloads_total",
		Help: "SIGHUPs by the result of the reload: applied, unchanged, refused (a setting needs a restart), " +
			"invalid (mistakes).",
	}, []string{"outcome"})}
	for _, outcome := range []string{reloadApplied, reloadUnchanged, reloadRefused, reloadInvalid} {
		r.outcomes.WithLabelValues(outcome)
	}
	reg.MustRegister(r.outcomes)
	return r
}

// ReloadOn makes Run load the configuration again at each signal, with load, which must use the same sources
// as the configuration that New was given. level is the level of the logger that New was given. It may be
// called once, before Run.
func (s *Service) ReloadOn(signals <-chan os.Signal, load func() (config.Config, error), level *slog.LevelVar) {
	s.reloader.signals, s.reloader.load, s.reloader.level = signals, load, level
}

// run reloads at each signal until ctx ends.
func (r *reloader) run(ctx context.Context) {
	for {
		select {
		case <-r.signals:
			r.outcomes.WithLabelValues(r.reload()).Inc()
		case <-ctx.Done():
			return
		}
	}
}

// reload applies the new configuration, unless it has mistakes or changes a setting that needs a restart. It
// returns the outcome.
func (r *reloader) reload() string {
	next, err := r.load()
	if err != nil {
		r.log.Error("configuration not reloaded, because it has mistakes: the settings in force stay", "err", err)
		return reloadInvalid
	}
	changed := config.Schema().Differences(&r.running, &next)
	var fixed []string
	for _, name := range changed {
		unused := strings.HasPrefix(name, "shadow.") && !r.running.IsShadow()
		if !isReloadable(name) && !unused {
			fixed = append(fixed, name)
		}
	}
	switch {
	case len(fixed) > 0:
		r.log.Error("configuration not reloaded, because some settings cannot change while the service runs: "+
			"restart to apply; nothing was applied",
			"restart_to_apply", fixed, "changed", changed)
		return reloadRefused
	case len(changed) == 0:
		r.log.Info("configuration reloaded, nothing has changed")
		return reloadUnchanged
	}
	for _, one := range reloadable {
		one.apply(r, &next)
	}
	r.running = next
	r.log.Info("configuration reloaded", "changed", changed)
	return reloadApplied
}

func isReloadable(name string) bool {
	for _, one := range reloadable {
		if name == one.name || strings.HasPrefix(name, one.name+".") {
			return true
		}
	}
	return false
}
