package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// knock asks every server at the same time for a sign of life. It returns how many gave one, and how long the quickest
// took.
func (n network) knock(ctx context.Context, component string, limit time.Duration) (answers int, quickest time.Duration) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, l := range n {
		asking.Go(func() {
			start := time.Now()
			if knock(ctx, component, l.addr(), limit) != nil {
				return
			}
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			if answers++; answers == 1 || took < quickest {
				quickest = took
			}
		})
	}
	asking.Wait()
	return answers, quickest
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
