package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/internal/app/config"
	"echosieve/pipeline"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/connection"
)

// configuredRedis is the value of --redis without an address.
const configuredRedis = "redis.addrs"

// removeTimeout bounds the removal of the keys that an evaluation has written.
const removeTimeout = time.Minute

// ownIndex is an index that only this evaluation uses. It is empty at first.
type ownIndex struct {
	pipeline.Index
	// cost returns the mean numbers of look-ups and of candidates per article so far.
	cost func() (lookups, candidates float64, err error)
	// close removes the keys of the index and closes the connection.
	close func() error
}

// openIndex opens an index. It is in a Redis in this process if addr is empty, in the Redis of redis.addrs if
// addr is configuredRedis, else in the Redis at addr.
func openIndex(ctx context.Context, cfg config.Config, recipeID, addr string, logs io.Writer) (*ownIndex, error) {
	layout := cfg.IndexConfig(recipeID)
	layout.Namespace += ":eval-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	server := cfg.Redis
	stop := func() {}
	switch addr {
	case "":
		store, err := servers.StartRedis()
		if err != nil {
			return nil, err
		}
		stop = store.Close
		server.Options = connection.DefaultOptions()
		server.Addrs = []string{store.Addr()}
	case configuredRedis:
	default:
		server.Addrs, server.Cluster, server.MasterName = []string{addr}, false, ""
	}
	client, err := servers.DialRedis(ctx, server)
	if err != nil {
		stop()
		return nil, err
	}
	remove := func() error {
		if addr == "" {
			return nil // the Redis ends with this process
		}
		// The keys are removed after an interruption, too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		return admin.Remove(ctx, client, layout.Namespace)
	}
	closeAll := func() error {
		defer stop()
		return errors.Join(remove(), client.Close())
	}
	registry := prometheus.NewRegistry()
	log := cfg.Log.NewLogger(logs)
	index, err := redisindex.New(client, layout, registry, log, func(_ string, _ fmt.Stringer, err error) {
		if err != nil {
			log.WarnContext(ctx, "redis failed, trying again; Ctrl-C gives up", "err", err)
		}
	})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return &ownIndex{Index: index, close: closeAll,
		cost: func() (float64, float64, error) { return lookupCost(registry) }}, nil
}

// lookupCost returns the means of two histograms of the index.
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
