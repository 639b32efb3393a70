package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
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

func (w *world) link(component string) (*link, error) {
	l := map[string]*link{"redis": w.redisLink, "kafka": w.kafkaLink}[component]
	if l == nil {
		return nil, errNoProxy
	}
	return l, nil
}

// slow delays what goes to a server and what comes back.
func slow(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
		l, err := r.w.link(component)
		if err != nil {
			return "", err
		}
		delay := between(random, 50*time.Millisecond, 150*time.Millisecond)
		defer l.heal(ctx)
		attributes := fmt.Sprintf(`"latency": %d, "jitter": %d`, delay.Milliseconds(), delay.Milliseconds()/4)
		if err := errors.Join(l.poison("latency", "upstream", 1, attributes), l.poison("latency", "downstream", 1, attributes)); err != nil {
			return "", err
		}
		start := time.Now()
		if err := knock(ctx, component, l.addr(), readyTimeout); err != nil {
			return "", fmt.Errorf("no answer over the slow network: %w", err)
		}
		took := time.Since(start)
		if took < delay {
			return "", fmt.Errorf("an answer took only %s", took)
		}
		return fmt.Sprintf("an answer took %s", took.Round(time.Millisecond)), pause(ctx, atLeast(d, random, 3*time.Second, 6*time.Second))
	}
}

// cut swallows what goes to a server, or only its answers: then it does what it is asked to, and nobody hears of it.
func cut(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
		l, err := r.w.link(component)
		if err != nil {
			return "", err
		}
		direction := []string{"upstream", "downstream"}[random.IntN(2)]
		proof, err := r.outage(ctx, component, atLeast(d, random, 3*time.Second, 6*time.Second), func() (string, error) {
			if err := l.poison("timeout", direction, 1, `"timeout": 0`); err != nil {
				return "", err
			}
			if knock(ctx, component, l.addr(), time.Second) == nil {
				return "", errors.New("a request was answered")
			}
			return direction + ": no answer", nil
		}, func() error {
			l.heal(ctx)
			return nil
		})
		return proof, err
	}
}

// hangUps ends a part of the connections soon after they first carry something.
func hangUps(component string) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
		l, err := r.w.link(component)
		if err != nil {
			return "", err
		}
		defer l.heal(ctx)
		lasts := atLeast(d, random, 2*time.Second, 4*time.Second)
		failed, tries := 0, 0
		// Several times anew, since what survived is left alone after that.
		for end := time.Now().Add(lasts); time.Now().Before(end); tries++ {
			l.heal(ctx)
			direction := []string{"upstream", "downstream"}[random.IntN(2)]
			if err := l.poison("reset_peer", direction, 0.5, fmt.Sprintf(`"timeout": %d`, random.IntN(20))); err != nil {
				return "", err
			}
			if knock(ctx, component, l.addr(), time.Second) != nil {
				failed++
			}
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

// knock asks a server for a sign of life over a new connection.
func knock(ctx context.Context, component, addr string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if component == "redis" {
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: limit, ContextTimeoutEnabled: true})
		defer client.Close()
		return client.Ping(ctx).Err()
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end)
	// ApiVersions version 0, without a client id. A client library would try again by itself.
	if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 8))
	return err
}
