package service

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"echosieve/app/config"
	"echosieve/pipeline/article"
)

// reloadable says whether a running service takes a setting over. Every other setting needs a restart.
//
// Not those of kafka.topics: at start, the service checks that each output topic exists and may be
// written, and learns its partitions. A topic that was never checked could refuse records, and its partition
// of the input would stop.
func reloadable(name string) bool {
	return name == "log.level" || strings.HasPrefix(name, "policy.")
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

func newReloader(cfg config.Config, setPolicy func(article.Policy), reg prometheus.Registerer,
	log *slog.Logger) *reloader {
	r := &reloader{running: cfg, setPolicy: setPolicy, log: log}
	r.outcomes = promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "echosieve_config_reloads_total",
		Help: "SIGHUPs by the result of the reload: applied, unchanged, refused (a setting needs a restart), " +
			"invalid (mistakes).",
	}, []string{"outcome"})
	for _, outcome := range []string{reloadApplied, reloadUnchanged, reloadRefused, reloadInvalid} {
		r.outcomes.WithLabelValues(outcome)
	}
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
	fixed := slices.DeleteFunc(slices.Clone(changed), reloadable)
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
	r.level.Set(next.Log.SlogLevel())
	r.setPolicy(next.Policy)
	r.running = next
	r.log.Info("configuration reloaded", "changed", changed)
	return reloadApplied
}
