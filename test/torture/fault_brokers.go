package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
)

var brokerFaults = map[string]fault{
	"leader-kill":      {ofKafka, injectLeaderKill},
	"leader-stop":      {ofKafka, injectLeaderStop},
	"broker-lost":      {ofKafka, injectBrokerLost},
	"broker-cut":       {ofKafka, injectBrokerCut},
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
	before, err := r.leader(ctx, r.w.brokers[0], partition)
	if err != nil {
		return "", err
	}
	stop(r.w.brokers[before])
	proof, err := r.deposed(ctx, partition, before)
	if err != nil {
		return "", err
	}
	r.w.brokers[before].Restart()
	return proof, r.inSync(ctx)
}

// injectBrokerCut cuts the leader of a partition off from clients and from the other brokers, while it goes on running and
// believes that it leads; with min.insync.replicas=2 it can acknowledge nothing.
func injectBrokerCut(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	all, err := r.w.network("kafka")
	if err != nil {
		return "", err
	}
	return r.disturb(ctx, "kafka", func([]witness) (proof string, err error) {
		partition := int32(random.IntN(r.w.o.partitions))
		before, err := r.leader(ctx, r.w.brokers[0], partition)
		if err != nil {
			return "", err
		}
		n := all.around(before)
		defer func() { err = errors.Join(err, r.mend(ctx, "kafka", n)) }()
		how, err := n.sever(ctx, "kafka", directions...)
		if err != nil {
			return "", err
		}
		moved, err := r.deposed(ctx, partition, before)
		if err != nil {
			return "", err
		}
		if believed, err := r.leader(ctx, r.w.brokers[before], partition); err != nil || believed != before {
			return "", fmt.Errorf("the broker that is cut off believes that %d leads: %w", believed, err)
		}
		wentOn, err := r.goesOn(ctx, atLeast(d, random, 10*time.Second, 15*time.Second))
		return fmt.Sprintf("%s; %s; it still believed to lead; %s", how, moved, wentOn), err
	})
}

// deposed waits until another broker leads the partition, as that one itself sees it.
func (r *round) deposed(ctx context.Context, partition int32, before int) (string, error) {
	start := time.Now()
	witness := r.w.brokers[(before+1)%len(r.w.brokers)]
	after := before
	for after == before {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
		if now, err := r.leader(ctx, witness, partition); err == nil {
			after = now
		}
		if time.Since(start) > readyTimeout {
			return "", fmt.Errorf("%s still leads partition %d", r.w.brokers[before].Addr, partition)
		}
	}
	return fmt.Sprintf("broker %d led partition %d, %.1fs later broker %d", before+1, partition, time.Since(start).Seconds(), after+1), nil
}

// leader returns which broker leads a partition of the input topic, as one of them sees it.
func (r *round) leader(ctx context.Context, asked *kafkaserver.Server, partition int32) (int, error) {
	topics, err := seenBy(ctx, asked, r.topic)
	if err != nil {
		return 0, err
	}
	p, known := topics[r.topic].Partitions[partition]
	if !known || p.Leader < 1 {
		return 0, fmt.Errorf("partition %d has no leader: %w", partition, p.Err)
	}
	return int(p.Leader) - 1, p.Err
}

// seenBy returns what one broker knows of topics. It may be behind the others, or cut off from them.
func seenBy(ctx context.Context, asked *kafkaserver.Server, topics ...string) (kadm.TopicDetails, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(asked.Addr)) // a fresh one knows nobody else to ask
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return kadm.NewClient(client).ListTopics(ctx, topics...)
}

// inSync waits until every replica of the round's topics has caught up and all brokers know it, so that the next may fail.
func (r *round) inSync(ctx context.Context) error {
	for end := time.Now().Add(readyTimeout); ; {
		behind := 0
		var errs []error
		for _, s := range r.w.brokers {
			topics, err := seenBy(ctx, s, r.topic, r.topic+"-unique", r.topic+"-duplicate", r.topic+"-dead")
			errs = append(errs, err, topics.Error())
			topics.EachPartition(func(p kadm.PartitionDetail) {
				if len(p.ISR) < r.w.o.brokers || p.Leader < 1 {
					behind++
				}
			})
		}
		err := errors.Join(errs...)
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
	s := r.w.brokers[random.IntN(len(r.w.brokers))]
	s.Kill()
	if _, err := refused(ctx, s.Addr); err != nil {
		return "", err
	}
	proof, err := r.goesOn(ctx, atLeast(d, random, 10*time.Second, 15*time.Second))
	s.Restart()
	if err != nil {
		return "", err
	}
	return proof, r.inSync(ctx)
}

// goesOn waits for d, and longer if need be, until records were published and decided meanwhile.
func (r *round) goesOn(ctx context.Context, d time.Duration) (string, error) {
	start, before, decidedBefore := time.Now(), r.feed.acknowledged.Load(), r.decided()
	for {
		if err := pause(ctx, d); err != nil {
			return "", err
		}
		published, decided := r.feed.acknowledged.Load()-before, r.decided()-decidedBefore
		switch {
		case published > 0 && decided > 0:
			return fmt.Sprintf("%d records were published and %d decided meanwhile", published, decided), nil
		case time.Since(start) > readyTimeout:
			return "", fmt.Errorf("with one of three brokers away, %d records were published and %d decided", published, decided)
		}
		d = time.Second // Redis may be away as well
	}
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
	for _, i := range random.Perm(len(r.w.brokers))[:2] {
		lost = append(lost, r.w.brokers[i])
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
