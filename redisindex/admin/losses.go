package admin

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/connection"
)

// Losses are the last losses that processes have written into the markers, a line for each marker.
type Losses string

// Losses returns the last losses of the index.
func (t *Tools) Losses(ctx context.Context) (all Losses, err error) {
	err = t.session.Patiently(ctx, "markers", func() error {
		pipe := t.client.Pipeline()
		var replies []*redis.StringCmd
		for _, key := range t.markers() {
			replies = append(replies, pipe.HGet(ctx, key, "lost"))
		}
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		all = ""
		for _, r := range replies {
			all += Losses(r.Val() + "\n")
		}
		return nil
	})
	return all, err
}

// Cure says in Redis that a refill has given back what these losses, which were known when it began, had taken; all
// processes then end their warnings. It does nothing, and returns false, if there was no loss.
func (t *Tools) Cure(ctx context.Context, losses Losses) (cured bool, err error) {
	last := int64(0)
	for line := range strings.Lines(string(losses)) {
		number, _, _ := strings.Cut(line, " ")
		at, _ := strconv.ParseInt(number, 10, 64) // 0: the marker has no loss
		last = max(last, at)
	}
	if last == 0 {
		return false, nil
	}
	return true, t.session.Patiently(ctx, "cure", func() error {
		pipe := t.client.Pipeline()
		pipe.HSet(ctx, t.markers()[0], "cured", last)
		return connection.Execute(ctx, pipe)
	})
}

// markers names the markers of the index.
func (t *Tools) markers() []string {
	_, cluster := t.client.(*redis.ClusterClient)
	return t.keys.Markers(cluster)
}
