package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"echosieve/app/access"
	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/registry"
	"echosieve/consumer/learning"
	"echosieve/internal/diag"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// process is what the processes of both roles have.
type process struct {
	cfg      config.Config
	log      *slog.Logger
	registry *prometheus.Registry
	health   *health
	recipeID string
	schemas  *registry.Client // nil without input.registry
	access   *access.Access   // nil without a login and TLS
	redis    redis.UniversalClient
	learnt   *learning.Topic // nil: nothing is learnt
	listener net.Listener
	closers  []func() // of what was opened
}

// newProcess loads the dictionaries and opens the HTTP listener. It connects to no server.
func newProcess(ctx context.Context, cfg config.Config, log *slog.Logger) (*process, *recipe.Recipe, error) {
	p := &process{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	p.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	components := []string{"kafka", "redis"}
	if p.schemas, _ = cfg.Input.Schemas.(*registry.Client); p.schemas != nil {
		components = append(components, registry.Component)
	}
	p.health = newHealth(p.registry, log, components...)
	var err error
	if p.access, err = access.Load(cfg.HTTP, log.With("component", "http")); err != nil {
		return nil, nil, err
	}
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return nil, nil, err
	}
	// Loading the dictionaries leaves garbage of the same size. Without this call an idle process would keep
	// that memory for minutes.
	debug.FreeOSMemory()
	p.recipeID = recipe.ID()
	p.registerBuildInfo(keyspace.IDOf(cfg.IndexConfig(p.recipeID), cfg.Redis.DB).String())
	if p.redis, err = connection.Connect(cfg.Redis.Options); err != nil {
		return nil, nil, err
	}
	p.closeWith(func() { _ = p.redis.Close() })
	if p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.HTTP.Listen); err != nil {
		p.Close()
		return nil, nil, fmt.Errorf("http.listen: %w (is another process using the port? set http.listen)", err)
	}
	p.closeWith(func() { _ = p.listener.Close() })
	return p, recipe, nil
}

// HTTPAddr returns the address of the HTTP listener.
func (p *process) HTTPAddr() string { return p.listener.Addr().String() }

// RecipeID returns the id of the recipe that the process applies.
func (p *process) RecipeID() string { return p.recipeID }

func (p *process) closeWith(closes func()) { p.closers = append(p.closers, closes) }

// Close releases what was opened, the last first. Run calls it.
func (p *process) Close() {
	for _, closes := range slices.Backward(p.closers) {
		closes()
	}
}

// serve serves HTTP, and probes the servers that every process has, until ctx ends.
func (p *process) serve(ctx context.Context, group *errgroup.Group, pages map[string]http.Handler) {
	handler := newHTTPHandler(p.cfg.HTTP, p.access, p.registry, p.health, pages)
	group.Go(func() error { return serveHTTP(ctx, p.listener, p.access.TLS(), handler, p.log) })
	p.probe(ctx, group, "redis", func(ctx context.Context) error {
		return connection.Explain(connection.Ping(ctx, p.redis), p.redis, p.cfg.Redis.Namespace)
	})
	if p.schemas != nil {
		p.probe(ctx, group, registry.Component, p.schemas.Ping)
	}
}

func (p *process) probe(ctx context.Context, group *errgroup.Group, component string, f func(context.Context) error) {
	group.Go(func() error { p.health.probe(ctx, component, f); return nil })
}

// wait waits for the goroutines of a process, which end when asked ends.
func (p *process) wait(asked context.Context, group *errgroup.Group) error {
	err := group.Wait()
	if err == nil || asked.Err() != nil && errors.Is(err, context.Canceled) {
		p.log.Info("stopped")
		return nil
	}
	return err
}

// buildInfo is the name of the metric that says what runs.
const buildInfo = "echosieve_build_info"

// registerBuildInfo registers the metric echosieve_build_info. Its value is always 1; its labels name
// version, recipe and index, and say whether this is a shadow.
func (p *process) registerBuildInfo(index string) {
	b := command.ThisBuild()
	promauto.With(p.registry).NewGauge(prometheus.GaugeOpts{
		Name: buildInfo,
		Help: "Always 1; the labels name version, recipe and index.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "revision": b.Revision, "goversion": b.Go, "recipe": p.recipeID, "index": index,
			"shadow": strconv.FormatBool(p.cfg.IsShadow()),
		},
	}).Set(1)
}

// Unprotected returns a warning for each setting that takes the protection from a connection. Such settings
// are allowed, because tests need them. The commands check and run show the warnings, because people forget
// to remove the settings after the test.
func Unprotected(cfg config.Config) []diag.Finding {
	var findings []diag.Finding
	warn := func(unprotected bool, component, problem, remedy string) {
		if unprotected {
			findings = append(findings, diag.Finding{Component: component, Severity: diag.Warning, Subject: "settings",
				Problem: problem, Remedy: remedy})
		}
	}
	warn(cfg.Kafka.TLS.InsecureSkipVerify, "kafka",
		"kafka.tls.insecure_skip_verify is set: anyone who can redirect a connection can read and change everything",
		"remove it, and name the authority in kafka.tls.ca_file")
	warn(cfg.Redis.TLS.InsecureSkipVerify, "redis",
		"redis.tls.insecure_skip_verify is set: anyone who can redirect a connection can read and change everything",
		"remove it, and name the authority in redis.tls.ca_file")
	warn(cfg.Kafka.SASL.Mechanism == "plain" && !cfg.Kafka.TLS.Enabled, "kafka",
		"kafka.sasl.mechanism is plain without TLS: the password is sent in clear text",
		"set kafka.tls.enabled: true, or kafka.sasl.mechanism: scram-sha-512")
	warn(cfg.Kafka.SASL.Mechanism == "oauthbearer" && !cfg.Kafka.TLS.Enabled, "kafka",
		"kafka.sasl.mechanism is oauthbearer without TLS: the token is sent in clear text",
		"set kafka.tls.enabled: true")
	warn(cfg.Redis.Password != "" && !cfg.Redis.TLS.Enabled, "redis",
		"redis.password is set without TLS: the password is sent in clear text",
		"set redis.tls.enabled: true, unless Redis runs on this machine")
	warn(cfg.Input.Avro.Registry.Password != "" && !cfg.Input.Avro.Registry.Encrypted(), registry.Component,
		"input.registry.password is set without TLS: the password is sent in clear text",
		"begin input.registry.urls with https://")
	warn(access.SendsPasswords(cfg.HTTP), "http",
		"http.listen takes logins without TLS: passwords and tokens are sent in clear text",
		"set cert_file and key_file under tls_server_config in the file of http.config_file, unless a proxy "+
			"before the listener speaks TLS")
	return findings
}
