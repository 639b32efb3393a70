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

// notes joins the index and the consumer: what the index wants to be remembered is committed beside the offsets.
type notes struct {
	index    *redisindex.Index
	reporter *watch.Reporter
}

// Note implements consumer.Notes.
func (n notes) Note() string { return n.index.Losses().Label() }

// Recall implements consumer.Notes.
func (n notes) Recall(committed map[article.Coordinates]string) {
	n.index.Losses().Recall(slices.Collect(maps.Values(committed)))
	n.reporter.Recall(committed)
}

// Cure returns how an operator of this configuration fills its index.
func Cure(cfg config.Config) watch.Cure {
	c := watch.Cure{Shadow: cfg.IsShadow()}
	if len(cfg.Arguments) > 0 {
		c.Arguments = " " + strings.Join(cfg.Arguments, " ")
	}
	return c
}
