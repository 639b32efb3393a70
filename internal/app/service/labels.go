package service

import (
	"maps"
	"slices"
	"strings"

	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/watch"
)

// labels joins the index and the consumer: what the index wants to be remembered is committed beside the offsets.
type labels struct {
	index    *redisindex.Index
	reporter *watch.Reporter
}

// Label implements consumer.Labels.
func (l labels) Label() string { return l.index.Losses().Label() }

// Recall implements consumer.Labels.
func (l labels) Recall(committed map[article.Coordinates]string) {
	l.index.Losses().Recall(slices.Collect(maps.Values(committed)))
	l.reporter.Recall(committed)
}

// Cure returns how an operator of this configuration fills its index.
func Cure(cfg config.Config) watch.Cure {
	c := watch.Cure{Shadow: cfg.IsShadow()}
	if len(cfg.Arguments) > 0 {
		c.Arguments = " " + strings.Join(cfg.Arguments, " ")
	}
	return c
}
