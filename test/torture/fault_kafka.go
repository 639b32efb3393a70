package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"echosieve/test/kafkaserver"
)

var kafkaFaults = map[string]fault{
	"broker-kill":    {ofKafka, injectBrokerKill},
	"broker-restart": {ofKafka, injectBrokerRestart},
	"partitions":     {ofKafka, injectPartitions},
}

var errNotOurs = errors.New("this server is not ours to break")

// injectBrokerKill ends the broker with kill -9 and starts it again.
func injectBrokerKill(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	return r.brokerAway(ctx, atLeast(d, random, time.Second, 4*time.Second), (*kafkaserver.Server).Kill)
}

// injectBrokerRestart ends the broker in good order and starts it again.
func injectBrokerRestart(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	return r.brokerAway(ctx, atLeast(d, random, time.Second, 4*time.Second), (*kafkaserver.Server).Stop)
}

func (r *round) brokerAway(ctx context.Context, d time.Duration, stop func(*kafkaserver.Server)) (string, error) {
	s := r.w.brokers[0]
	if s.Pid() == 0 {
		return "", errNotOurs
	}
	return r.outage(ctx, "kafka", d, func() (string, error) {
		stop(s)
		return refused(ctx, s.Addr)
	}, func() error {
		s.Restart()
		return nil
	})
}

// refused checks that nobody listens at the address.
func refused(ctx context.Context, addr string) (string, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("the connection was not refused: %w", err)
	}
	return "connection refused", nil
}

// injectPartitions gives the input topic more partitions.
func injectPartitions(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	before := r.generation()
	more := 1 + random.IntN(3)
	res, err := r.w.admin.CreatePartitions(ctx, more, r.topic)
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		return "", err
	}
	proof, err := r.moved(ctx, before, 1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d more, %s", more, proof), nil
}
