package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"

	"echosieve/pipeline"
	"echosieve/redisindex"
)

// configuredRedis is the value of --redis without an address.
const configuredRedis = "redis.addrs"

// removeTimeout bounds the removal of an evaluation's keys.
const removeTimeout = time.Minute

// evalIndex is an empty index of an evaluation's own.
type evalIndex struct {
	pipeline.Index
	// cost tells the mean number of look-ups and candidates per article so far.
	cost func() (lookups, candidates float64, err error)
	// close removes what the index holds.
	close func() error
}

// openEvalIndex opens an index in an in-process Redis, or in the one at addr.
func openEvalIndex(ctx context.Context, cfg Config, recipeID, addr string, logs io.Writer) (*evalIndex, error) {
	layout := cfg.index(recipeID)
	layout.Namespace += ":eval-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	options := cfg.Redis.Options
	stop := func() {}
	switch addr {
	case "":
		store := miniredis.NewMiniRedis()
		if err := store.Start(); err != nil {
			return nil, fmt.Errorf("in-process Redis: %w", err)
		}
		stop = store.Close
		options = redisindex.DefaultOptions()
		options.Addrs = []string{store.Addr()}
	case configuredRedis:
	default:
		options.Addrs, options.Cluster, options.MasterName = []string{addr}, false, ""
	}
	client, err := redisindex.Connect(options)
	if err != nil {
		stop()
		return nil, err
	}
	remove := func() error {
		if addr == "" {
			return nil // it ends with this process
		}
		// Also after an interruption.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		return redisindex.Remove(ctx, client, layout.Namespace)
	}
	closeAll := func() error {
		defer stop()
		return errors.Join(remove(), client.Close())
	}
	if err := client.Ping(ctx).Err(); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("redis at %v does not answer: %w", options.Addrs, err), client.Close())
	}
	registry := prometheus.NewRegistry()
	log := newLogger(cfg.Log, logs)
	index, err := redisindex.New(client, layout, registry, log, func(_ string, err error) {
		if err != nil {
			log.WarnContext(ctx, "redis does not answer as it should, trying again; Ctrl-C gives up", "err", err)
		}
	})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return &evalIndex{Index: index, close: closeAll, cost: func() (float64, float64, error) { return lookupCost(registry) }}, nil
}

// lookupCost reads the means of the index's histograms.
func lookupCost(registry *prometheus.Registry) (lookups, candidates float64, err error) {
	families, err := registry.Gather()
	if err != nil {
		return 0, 0, err
	}
	means := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h.GetSampleCount() > 0 {
				means[family.GetName()] = h.GetSampleSum() / float64(h.GetSampleCount())
			}
		}
	}
	return means["echosieve_redisindex_lookups_per_article"], means["echosieve_redisindex_candidates_per_article"], nil
}
