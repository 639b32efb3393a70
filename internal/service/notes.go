package service

import (
	"maps"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
)

// notes joins the index and the consumer: what the index wants to be remembered is committed beside the offsets.
type notes struct{ index *redisindex.Index }

// Note implements consumer.Notes.
func (n notes) Note() string { return n.index.Note() }

// Recall implements consumer.Notes.
func (n notes) Recall(committed map[article.Coordinates]string) {
	n.index.Recall(slices.Collect(maps.Values(committed)))
}
