package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Probe asks all servers at the same time for a sign of life, and returns how many answered.
func (n Network) Probe(ctx context.Context, component string, limit time.Duration) int {
	var answers atomic.Int32
	var asking sync.WaitGroup
	for _, l := range n {
		asking.Go(func() {
			if Probe(ctx, component, l.Addr(), limit) == nil {
				answers.Add(1)
			}
		})
	}
	asking.Wait()
	return int(answers.Load())
}

// Probe asks a server ("redis" or "kafka") for a sign of life over a new connection, within the limit.
func Probe(ctx context.Context, component, addr string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if component == "redis" {
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: limit,
			ContextTimeoutEnabled: true})
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
	// A request ApiVersions version 0, without a client id, written by hand: a client library would retry by itself.
	if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 8))
	return err
}

// CheckRefused checks that nobody listens at the address, and returns the proof.
func CheckRefused(ctx context.Context, addr string) (proof string, err error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("the connection was not refused: %w", err)
	}
	return "connection refused", nil
}
