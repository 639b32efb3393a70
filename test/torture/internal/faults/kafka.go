package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// killBroker ends the only broker and starts it again.
func killBroker(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	s := r.Brokers[0]
	return r.Outage(ctx, "kafka", between(random, time.Second, 4*time.Second), func() (string, error) {
		s.Kill()
		return rig.CheckRefused(ctx, s.Addr)
	}, func() error {
		s.Restart()
		return nil
	})
}

// addPartitions adds one to three partitions to the input topic.
func addPartitions(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	before := r.Generation()
	more := 1 + random.IntN(3)
	res, err := r.Admin.CreatePartitions(ctx, more, r.Topic)
	if err := errors.Join(err, res.Error()); err != nil {
		return "", err
	}
	proof, err := regrouped(ctx, r, before)
	return fmt.Sprintf("%d partitions more, %s", more, proof), err
}

// killLeader kills the leader of a partition. With the two other brokers and min.insync.replicas=2 the service goes on.
func killLeader(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	partition := int32(random.IntN(r.Partitions))
	before, err := leader(ctx, r, r.Brokers[0], partition)
	if err != nil {
		return "", err
	}
	r.Brokers[before].Kill()
	moved, err := awaitNewLeader(ctx, r, partition, before)
	if err != nil {
		return "", err
	}
	wentOn, err := keepsWorking(ctx, r, between(random, 5*time.Second, 10*time.Second))
	r.Brokers[before].Restart()
	return moved + "; " + wentOn, errors.Join(err, inSync(ctx, r))
}

// cutBroker cuts the leader of a partition off from the clients and from the other brokers. The broker goes
// on running and believes that it leads. With min.insync.replicas=2 it can acknowledge no record.
func cutBroker(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	return r.Disturb(ctx, "kafka", func() (proof string, err error) {
		partition := int32(random.IntN(r.Partitions))
		before, err := leader(ctx, r, r.Brokers[0], partition)
		if err != nil {
			return "", err
		}
		n := r.KafkaNet.Around(before)
		defer func() { err = errors.Join(err, restore(ctx, r, "kafka", n)) }()
		how, err := n.Cut(ctx, "kafka", rig.Directions...)
		if err != nil {
			return "", err
		}
		moved, err := awaitNewLeader(ctx, r, partition, before)
		if err != nil {
			return "", err
		}
		if believed, err := leader(ctx, r, r.Brokers[before], partition); err != nil || believed != before {
			return "", fmt.Errorf("the broker that is cut off believes that broker %d leads: %w", believed, err)
		}
		wentOn, err := keepsWorking(ctx, r, between(random, 10*time.Second, 15*time.Second))
		return fmt.Sprintf("%s; %s; the broker that was cut off still believed that it leads; %s", how, moved,
			wentOn), err
	})
}

// awaitNewLeader waits until another broker leads the partition. It asks another broker than the former leader.
func awaitNewLeader(ctx context.Context, r *rig.Round, partition int32, before int) (string, error) {
	start, after := time.Now(), before
	witness := r.Brokers[(before+1)%len(r.Brokers)]
	err := process.Until(ctx, rig.ReadyTimeout, 200*time.Millisecond, func() (err error) {
		if after, err = leader(ctx, r, witness, partition); err == nil && after == before {
			err = fmt.Errorf("%s still leads partition %d", r.Brokers[before].Addr, partition)
		}
		return err
	})
	return fmt.Sprintf("broker %d led partition %d, %.1fs later broker %d", before+1, partition,
		time.Since(start).Seconds(), after+1), err
}

// leader returns the place in r.Brokers of the leader of a partition of the input topic, as the asked broker sees it.
func leader(ctx context.Context, r *rig.Round, asked *kafkaserver.Server, partition int32) (int, error) {
	topics, err := seenBy(ctx, asked, r.Topic)
	if err != nil {
		return 0, err
	}
	p, known := topics[r.Topic].Partitions[partition]
	if !known || p.Leader < 1 {
		return 0, fmt.Errorf("partition %d has no leader: %w", partition, p.Err)
	}
	return int(p.Leader) - 1, p.Err
}

// seenBy returns what one broker knows of topics. That broker may be behind the others, or cut off from them.
func seenBy(ctx context.Context, asked *kafkaserver.Server, topics ...string) (kadm.TopicDetails, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(asked.Addr)) // a new client knows no other broker to ask
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return kadm.NewClient(client).ListTopics(ctx, topics...)
}

// inSync waits until every replica of the round's topics has caught up and all brokers know that. Then the
// next broker may fail.
func inSync(ctx context.Context, r *rig.Round) error {
	outputs := r.Topics()
	return process.Until(ctx, rig.ReadyTimeout, 200*time.Millisecond, func() error {
		behind := 0
		var errs []error
		for _, s := range r.Brokers {
			topics, err := seenBy(ctx, s, r.Topic, outputs.Unique, outputs.Duplicate, outputs.Dead)
			errs = append(errs, err, topics.Error())
			topics.EachPartition(func(p kadm.PartitionDetail) {
				if len(p.ISR) < r.BrokerCount || p.Leader < 1 {
					behind++
				}
			})
		}
		if behind > 0 {
			errs = append(errs, fmt.Errorf("%d partitions lack a replica that is in sync", behind))
		}
		return errors.Join(errs...)
	})
}

// keepsWorking waits for d, or longer if necessary, until records were published and decided meanwhile.
func keepsWorking(ctx context.Context, r *rig.Round, d time.Duration) (string, error) {
	before := r.Feed.Acknowledged()
	decidedBefore, _ := r.Watcher.Decided()
	if err := process.Pause(ctx, d); err != nil {
		return "", err
	}
	proof := ""
	err := process.Until(ctx, rig.ReadyTimeout, time.Second, func() error { // Redis may be away at the same time
		now, _ := r.Watcher.Decided()
		published, decided := r.Feed.Acknowledged()-before, now-decidedBefore
		proof = fmt.Sprintf("%d records were published and %d decided meanwhile", published, decided)
		if published == 0 || decided == 0 {
			return errors.New(proof)
		}
		return nil
	})
	return proof, err
}

// loseTwoBrokers takes two of three brokers away. The last broker acknowledges no record until one of them is back.
func loseTwoBrokers(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	var lost []*kafkaserver.Server
	for _, i := range random.Perm(len(r.Brokers))[:2] {
		lost = append(lost, r.Brokers[i])
	}
	proof, err := r.Outage(ctx, "kafka", between(random, 3*time.Second, 8*time.Second), func() (string, error) {
		for _, s := range lost {
			s.Kill()
			if _, err := rig.CheckRefused(ctx, s.Addr); err != nil {
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
	return proof, inSync(ctx, r)
}
