package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// linksOf returns all links between a component's servers and everybody else.
func linksOf(r *rig.Round, component string) rig.Network {
	return map[string]rig.Network{"redis": r.RedisNet, "kafka": r.KafkaNet}[component]
}

// vitalLinks draws links without which the processes can do nothing and which no replica replaces. In a Redis
// Cluster these can be the links of one master: the other nodes still hear it on their own ports, and do not
// replace it. Elsewhere they are all links.
func vitalLinks(ctx context.Context, r *rig.Round, component string, random *rand.Rand) (rig.Network, error) {
	all := linksOf(r, component)
	if component != "redis" || r.Cluster == nil || random.IntN(2) == 0 {
		return all, nil
	}
	master, err := r.Cluster.Owner(ctx, random.IntN(slots))
	if err != nil {
		return nil, err
	}
	return all.To(master.Addr)
}

// restore removes all toxics from the links and waits until servers that replicate have found each other
// again. Until then some of them may take a master for lost and replace it.
func restore(ctx context.Context, r *rig.Round, component string, n rig.Network) error {
	n.RemoveToxics(ctx)
	switch {
	case component == "kafka":
		return inSync(ctx, r)
	case r.RedisKind == rig.PlainRedis:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rig.ReadyTimeout)
	defer cancel()
	if r.Cluster != nil {
		return r.Cluster.WaitReady(ctx)
	}
	return r.Sentinel.WaitReady(ctx)
}

// cut swallows the requests, or only the replies: the servers then execute the requests, and nobody hears of it.
func cut(component string) injector {
	return func(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
		n, err := vitalLinks(ctx, r, component, random)
		if err != nil {
			return "", err
		}
		return r.Outage(ctx, component, between(random, 3*time.Second, 6*time.Second),
			func() (string, error) { return n.Cut(ctx, component, rig.Directions[random.IntN(2)]) },
			func() error { return restore(ctx, r, component, n) })
	}
}

// hangUps ends half of the connections soon after they first carry data.
func hangUps(component string) injector {
	return func(ctx context.Context, r *rig.Round, random *rand.Rand) (proof string, err error) {
		n := linksOf(r, component)
		defer func() { err = errors.Join(err, restore(ctx, r, component, n)) }()
		lasts := between(random, 2*time.Second, 4*time.Second)
		failed, tries := 0, 0
		// Repeated, because a toxic never affects a connection that it has spared once.
		for start := time.Now(); time.Since(start) < lasts || failed == 0 &&
			time.Since(start) < rig.ReadyTimeout; tries += len(n) {
			n.RemoveToxics(ctx)
			if err := n.AddToxic("reset_peer", rig.Directions[random.IntN(2)], 0.5,
				fmt.Sprintf(`"timeout": %d`, random.IntN(20))); err != nil {
				return "", err
			}
			failed += len(n) - n.Probe(ctx, component, time.Second)
			if err := process.Pause(ctx, between(random, 50*time.Millisecond, 300*time.Millisecond)); err != nil {
				return "", err
			}
		}
		if failed == 0 {
			return "", fmt.Errorf("none of %d connections of the runner ended", tries)
		}
		return fmt.Sprintf("%d of %d connections of the runner ended", failed, tries), nil
	}
}
