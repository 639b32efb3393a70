package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

var networkFaults = map[string]fault{
	"redis-slow":     {ofRedis, slow("redis")},
	"redis-cut":      {ofRedis, cut("redis")},
	"redis-hang-ups": {ofRedis, hangUps("redis")},
	"kafka-slow":     {ofKafka, slow("kafka")},
	"kafka-cut":      {ofKafka, cut("kafka")},
	"kafka-hang-ups": {ofKafka, hangUps("kafka")},
}

var errNoProxy = errors.New("there is no proxy in front of this server")

// network is all that lies between a component and the others.
func (w *world) network(component string) (network, error) {
	n := map[string]network{"redis": w.redisNet, "kafka": w.kafkaNet}[component]
	if len(n) == 0 {
		return nil, errNoProxy
	}
	return n, nil
}

// vital draws links without which the processes can do nothing and no replica takes over: all, or in a Redis Cluster,
// where the nodes still hear it, perhaps those of one master.
func (w *world) vital(ctx context.Context, component string, random *rand.Rand) (network, error) {
	all, err := w.network(component)
	if err != nil || component != "redis" || w.cluster == nil || random.IntN(2) == 0 {
		return all, err
	}
	master, err := w.cluster.Owner(ctx, random.IntN(slots))
	if err != nil {
		return nil, err
	}
	return all.to(master.Addr)
}

// mend heals the links. Servers that replicate must find each other again; until then some may think that a master is
// gone, and replace it.
func (r *round) mend(ctx context.Context, component string, n network) error {
	n.heal(ctx)
	switch {
	case component == "kafka":
		return r.inSync(ctx)
	case r.w.o.redis == plainRedis:
		return nil
	}
	if r.w.o.waitReplicas == 0 {
		r.destroy()
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if r.w.cluster != nil {
		return r.w.cluster.WaitReady(ctx)
	}
	return r.w.sentinel.WaitReady(ctx)
}

// slow delays what goes to servers and what comes back.
func slow(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (proof string, err error) {
		all, err := r.w.network(component)
		if err != nil {
			return "", err
		}
		delay := between(random, 50*time.Millisecond, 150*time.Millisecond)
		n := all.some(random)
		defer func() { err = errors.Join(err, r.mend(ctx, component, n)) }()
		attributes := fmt.Sprintf(`"latency": %d, "jitter": %d`, delay.Milliseconds(), delay.Milliseconds()/4)
		if err := errors.Join(n.poison("latency", "upstream", 1, attributes), n.poison("latency", "downstream", 1, attributes)); err != nil {
			return "", err
		}
		answers, quickest := n.knock(ctx, component, readyTimeout)
		if answers < len(n) || quickest < delay {
			return "", fmt.Errorf("%d of %d servers answered over the slow network, the first after %s", answers, len(n), quickest)
		}
		return fmt.Sprintf("an answer took %s (servers: %d)", quickest.Round(time.Millisecond), len(n)), pause(ctx, atLeast(d, random, 3*time.Second, 6*time.Second))
	}
}

// cut swallows what goes to servers, or only their answers: then they do what they are asked to, and nobody hears of it.
func cut(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
		n, err := r.w.vital(ctx, component, random)
		if err != nil {
			return "", err
		}
		return r.outage(ctx, component, atLeast(d, random, 3*time.Second, 6*time.Second),
			func() (string, error) { return n.sever(ctx, component, directions[random.IntN(2)]) },
			func() error { return r.mend(ctx, component, n) })
	}
}

// sever cuts the links in these directions.
func (n network) sever(ctx context.Context, component string, cut ...string) (string, error) {
	for _, direction := range cut {
		if err := n.poison("timeout", direction, 1, `"timeout": 0`); err != nil {
			return "", err
		}
	}
	if answers, _ := n.knock(ctx, component, time.Second); answers > 0 {
		return "", fmt.Errorf("%d of %d servers answered", answers, len(n))
	}
	return fmt.Sprintf("%s: no answer (servers: %d)", strings.Join(cut, " and "), len(n)), nil
}

// hangUps ends a part of the connections soon after they first carry something.
func hangUps(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (proof string, err error) {
		n, err := r.w.network(component)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, r.mend(ctx, component, n)) }()
		lasts := atLeast(d, random, 2*time.Second, 4*time.Second)
		failed, tries := 0, 0
		// Several times anew, since what survived is left alone after that.
		for end := time.Now().Add(lasts); time.Now().Before(end); tries += len(n) {
			n.heal(ctx)
			if err := n.poison("reset_peer", directions[random.IntN(2)], 0.5, fmt.Sprintf(`"timeout": %d`, random.IntN(20))); err != nil {
				return "", err
			}
			answers, _ := n.knock(ctx, component, time.Second)
			failed += len(n) - answers
			if err := pause(ctx, between(random, 50*time.Millisecond, 300*time.Millisecond)); err != nil {
				return "", err
			}
		}
		if failed == 0 {
			return "", fmt.Errorf("none of %d connections was ended", tries)
		}
		return fmt.Sprintf("%d of %d connections of ours ended", failed, tries), nil
	}
}
