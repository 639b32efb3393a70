package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// injectReadOnly makes the master a replica that nobody has told the clients of: it refuses to write.
func injectReadOnly(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	servers := r.w.sentinel
	master, err := servers.Master(ctx)
	if err != nil {
		return "", err
	}
	before, err := servers.Errors(ctx)
	if err != nil {
		return "", err
	}
	proof, err := r.outage(ctx, "redis", atLeast(d, random, time.Second, 4*time.Second), func() (string, error) {
		return "", servers.Client(master).ReplicaOf(ctx, "127.0.0.1", "1").Err() // nobody is there, so it keeps its data
	}, func() error {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		return errors.Join(servers.Client(master).ReplicaOf(ctx, "NO", "ONE").Err(), servers.WaitReady(ctx))
	})
	if err != nil {
		return "", err
	}
	after, err := servers.Errors(ctx)
	if err == nil && after["READONLY"] == before["READONLY"] {
		err = errors.New("nobody was answered READONLY")
	}
	return fmt.Sprintf("%d times READONLY was answered%s", after["READONLY"]-before["READONLY"], proof), err
}
