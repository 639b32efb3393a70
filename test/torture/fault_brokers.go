package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"echosieve/test/kafkaserver"
)

var brokerFaults = map[string]fault{
	"leader-kill":      {ofKafka, injectLeaderKill},
	"leader-stop":      {ofKafka, injectLeaderStop},
	"broker-lost":      {ofKafka, injectBrokerLost},
	"two-brokers-lost": {ofKafka, injectTwoBrokersLost},
}

// injectLeaderKill kills the leader of a partition and starts it again when another broker leads.
func injectLeaderKill(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	return r.moveLeader(ctx, random, (*kafkaserver.Server).Kill)
}

// injectLeaderStop ends it in good order, so that it hands its partitions over.
func injectLeaderStop(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	return r.moveLeader(ctx, random, (*kafkaserver.Server).Stop)
}

func (r *round) moveLeader(ctx context.Context, random *rand.Rand, stop func(*kafkaserver.Server)) (string, error) {
	partition := int32(random.IntN(r.w.o.partitions))
	before, err := r.leader(ctx, partition)
	if err != nil {
		return "", err
	}
	s := r.w.brokers.Servers[before-1]
	stop(s)
	after := before
	for end := time.Now().Add(readyTimeout); after == before || after < 1; {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
		if now, err := r.leader(ctx, partition); err == nil {
			after = now
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("broker %d still leads partition %d", after, partition)
		}
	}
	s.Restart()
	return fmt.Sprintf("broker %d led partition %d, then broker %d", before, partition, after), r.inSync(ctx)
}

// leader returns the broker that leads a partition of the input topic.
func (r *round) leader(ctx context.Context, partition int32) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	topics, err := r.w.admin.ListTopics(ctx, r.topic)
	if err != nil {
		return 0, err
	}
	p, known := topics[r.topic].Partitions[partition]
	if !known {
		return 0, fmt.Errorf("partition %d is unknown", partition)
	}
	return p.Leader, p.Err
}

// inSync waits until every replica of the round's topics has caught up, so that the next broker may fail.
func (r *round) inSync(ctx context.Context) error {
	for end := time.Now().Add(readyTimeout); ; {
		behind := 0
		topics, err := r.w.admin.ListTopics(ctx, r.topic, r.topic+"-unique", r.topic+"-duplicate", r.topic+"-dead")
		for _, t := range topics {
			for _, p := range t.Partitions {
				if len(p.ISR) < r.w.o.brokers || p.Leader < 1 {
					behind++
				}
			}
		}
		if err == nil && behind == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d partitions have not all their replicas: %w", behind, err)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// injectBrokerLost takes one broker away for longer; with min.insync.replicas=2 everything goes on.
func injectBrokerLost(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	s := r.w.brokers.Servers[random.IntN(len(r.w.brokers.Servers))]
	s.Kill()
	if _, err := refused(ctx, s.Addr); err != nil {
		return "", err
	}
	published, decided := r.feed.acknowledged.Load(), r.decided()
	if err := pause(ctx, atLeast(d, random, 10*time.Second, 15*time.Second)); err != nil {
		return "", err
	}
	published, decided = r.feed.acknowledged.Load()-published, r.decided()-decided
	s.Restart()
	if published == 0 || decided == 0 {
		return "", fmt.Errorf("with one of three brokers lost, %d records were published and %d decided", published, decided)
	}
	return fmt.Sprintf("%d records were published and %d decided meanwhile", published, decided), r.inSync(ctx)
}

// decided counts the records with a verdict so far.
func (r *round) decided() int64 {
	r.watcher.mu.Lock()
	defer r.watcher.mu.Unlock()
	return int64(len(r.watcher.sources))
}

// injectTwoBrokersLost takes two brokers away: no write is acknowledged until one of them is back.
func injectTwoBrokersLost(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	var lost []*kafkaserver.Server
	for _, i := range random.Perm(len(r.w.brokers.Servers))[:2] {
		lost = append(lost, r.w.brokers.Servers[i])
	}
	proof, err := r.outage(ctx, "kafka", atLeast(d, random, 3*time.Second, 8*time.Second), func() (string, error) {
		for _, s := range lost {
			s.Kill()
			if _, err := refused(ctx, s.Addr); err != nil {
				return "", err
			}
		}
		return "connections refused", nil
	}, func() error {
		for _, s := range lost {
			s.Restart()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return proof, r.inSync(ctx)
}
