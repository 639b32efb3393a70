package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/torture/internal/rig"
	"echosieve/test/torture/internal/wait"
)

// The faults of this file run the commands of operators beside the service, kill them in the middle and run them again.

const (
	commandKills    = 3
	earlierArticles = 500  // decided before a loss
	laterArticles   = 1500 // published after a refill, so that copies of articles from before the loss are among them
)

// refill deletes all data in Redis and lets index refill fill the index beside processes that serve, of which
// one is killed meanwhile. Then more articles must be published before the round may end.
func refill(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	if err := until(ctx, func() bool { return r.Watcher.Decided() >= earlierArticles }); err != nil {
		return "", err
	}
	committed, err := r.EmptyIndex(ctx, func() error {
		return r.EachMaster(ctx, func(master *redis.Client) error { return master.FlushAll(ctx).Err() })
	})
	if err != nil {
		return "", err
	}
	kills, err := killInTheMiddle(ctx, r, random, "index", "refill")
	if err != nil {
		return "", err
	}
	killed, err := kill(ctx, r, random)
	if err != nil {
		return "", err
	}
	e, err := r.Insist(ctx, "index", "refill", "--json")
	if err == nil {
		err = r.Refilled(ctx, committed)
	}
	if err != nil {
		return "", err
	}
	enough := r.Feed.Acknowledged() + laterArticles
	if err := until(ctx, func() bool { return r.Feed.Acknowledged() >= enough }); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; the refill was killed %d times, then: %s", killed, kills, e.Out), nil
}

// until waits until something is so. It returns an error only when ctx ends.
func until(ctx context.Context, isSo func() bool) error {
	for !isSo() {
		if err := wait.For(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// killInTheMiddle runs a command again and again until several runs were killed before they had ended. A run
// that succeeds shows how long this machine needs: later runs are killed sooner.
func killInTheMiddle(ctx context.Context, r *rig.Round, random *rand.Rand, args ...string) (kills int, err error) {
	var last rig.Ended
	latest := 2 * time.Second
	for tries := 0; kills < commandKills && tries < 10*commandKills; tries++ {
		start := time.Now()
		e, err := r.Command(ctx, between(random, latest/10, latest), args...)
		if err != nil {
			return 0, err
		}
		switch e.Code {
		case -1:
			kills++
		case 0:
			latest = min(latest, time.Since(start))
			fallthrough
		default:
			last = e
		}
	}
	if kills < commandKills {
		err = fmt.Errorf("only %d runs were killed; another ended with exit code %d: %s", kills, last.Code, last.Err)
	}
	return kills, err
}

// forget forgets articles, and is killed meanwhile.
func forget(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	input, err := r.Decided(ctx, random)
	if err != nil {
		return "", err
	}
	r.Forgotten(input)
	kills, err := killInTheMiddle(ctx, r, random, "index", "forget", input)
	if err != nil {
		return "", err
	}
	e, err := r.Insist(ctx, "index", "forget", input, "--json")
	return fmt.Sprintf("killed %d times, then: %s", kills, e.Out), err
}
