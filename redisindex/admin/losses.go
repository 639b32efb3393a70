package admin

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Losses are the last losses that processes have written into the markers, a line for each marker.
type Losses string

// Losses returns the last losses of the index.
func (t *Tools) Losses(ctx context.Context) (all Losses, err error) {
	markers := t.markers()
	replies := make([]*redis.StringCmd, len(markers))
	err = t.session.Send(ctx, "markers", t.client, func(pipe redis.Pipeliner) {
		for i, key := range markers {
			replies[i] = pipe.HGet(ctx, key, "lost")
		}
	})
	for _, r := range replies {
		all += Losses(r.Val() + "\n")
	}
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
	return true, t.session.Send(ctx, "cure", t.client, func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, t.markers()[0], "cured", last)
	})
}

// markers names the markers of the index.
func (t *Tools) markers() []string {
	_, cluster := t.client.(*redis.ClusterClient)
	return t.keys.Markers(cluster)
}
