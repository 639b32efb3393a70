package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/stories"
	"echosieve/stories/projector"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// accountStories waits until the topic of stories holds what follows from the outputs, and compares the last record of
// each story with the state in Redis. All articles have a verdict when it is called, and the processes run.
func (r *round) accountStories(ctx context.Context) error {
	outputs, err := r.outputs(ctx, kgo.ReadUncommitted())
	if err != nil {
		return err
	}
	inputs, err := r.inputs(ctx)
	if err != nil {
		return err
	}
	labels, err := kafkaserver.ReadAll(ctx, r.KafkaAddrs, []string{r.LabelsTopic()})
	if err != nil {
		return err
	}
	want := ledger.Stories(inputs, outputs, rig.Window)
	ledger.Label(want, labels)
	largest, publishers, named, warned := 0, 0, 0, 0
	for _, s := range want {
		largest, publishers = max(largest, s.Copies), max(publishers, s.Publishers)
		named, warned = named+min(1, s.Origin.Articles), warned+min(1, len(s.Labels))
	}
	r.Say("%d stories, the largest with %d copies, of at most %d publishers; %d name an origin, %d have labels",
		len(want), largest, publishers, named, warned)
	var got map[string]stories.Record
	if err := r.settle(ctx, func() (bad ledger.Violations, err error) {
		got, err = ledger.LastStories(ctx, r.KafkaAddrs, r.StoriesTopic())
		return ledger.CompareStories(want, got), err
	}); err != nil {
		return err
	}
	var changes []*kgo.Record
	if err := r.settle(ctx, func() (bad ledger.Violations, err error) {
		changes, err = kafkaserver.ReadAll(ctx, r.KafkaAddrs, []string{r.ChangesTopic()})
		return ledger.CompareChanges(outputs, changes), err
	}); err != nil {
		return err
	}
	r.Say("%d records of changes", len(changes))
	return r.compareState(ctx, got)
}

// settle waits until a topic is as it must be. What is not so in time is noted.
func (r *round) settle(ctx context.Context, check func() (ledger.Violations, error)) error {
	for end := time.Now().Add(r.o.patience); ; {
		bad, err := check()
		if err != nil {
			return err
		}
		if len(bad) == 0 || time.Now().After(end) {
			for _, v := range bad {
				r.Violate(v.Kind, "%s", v.Text)
			}
			return nil
		}
		if err := process.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// compareState compares the last record of each story with its state in Redis.
func (r *round) compareState(ctx context.Context, got map[string]stories.Record) error {
	var generations []string
	for keys := r.RedisClient.Scan(ctx, 0, r.Topic+":*:t", 1000).Iterator(); keys.Next(ctx); {
		generations = append(generations, keys.Val())
	}
	if len(generations) != 1 {
		return errors.New("Redis must have one generation of stories: " + strings.Join(generations, ", "))
	}
	keys := keyspace.Keys{Prefix: strings.TrimSuffix(generations[0], "t")}
	kept, err := projector.Open(ctx, r.RedisClient, keys, r.Topic, rig.Window, false)
	if err != nil {
		return err
	}
	var states []*projector.Entry
	var last []stories.Record
	for _, s := range got {
		at, err := article.ParseCoordinates(s.Root.Coordinates)
		if err != nil {
			return err
		}
		of := article.Ref{ID: s.Root.ID, Coordinates: at}
		states, last = append(states, &projector.Entry{Of: of}), append(last, s)
	}
	if _, err := kept.Read(ctx, states); err != nil {
		return err
	}
	for i, s := range last {
		state := states[i].Record(time.Now(), &stories.Rules{Window: rig.Window})
		state.State = s.State
		want, _ := json.Marshal(state) // numbers and strings always marshal
		if have, _ := json.Marshal(s); string(have) != string(want) {
			r.Violate(ledger.Story, "the state is\n%s\nand the last record\n%s", want, have)
		}
	}
	return nil
}
