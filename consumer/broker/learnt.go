package broker

import (
	"context"
	"errors"
	"fmt"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
)

// learntTopic completes a new topic of learnt rows: see Topics.Learnt.
func learntTopic(topic *kafka.TopicConfig) {
	topic.NumPartitions = 1
	topic.ConfigEntries = []kafka.ConfigEntry{
		{ConfigName: CleanupPolicy, ConfigValue: "compact"}, {ConfigName: TimeType, ConfigValue: appendTime},
	}
}

// appendTime is the value of TimeType with which brokers stamp records.
const appendTime = "LogAppendTime"

// LearntFault returns a permanent *diag.Problem if the topic of learnt rows is one that would not work, and another
// error if brokers do not answer. Settings that this user may not read count as right.
func LearntFault(ctx context.Context, c *Cluster, t *wire.Topic) error {
	refuse := func(cause, remedy string) error {
		return diag.Lasting("the topic "+t.Name+" "+cause, remedy+", or set detection.learn: false",
			errors.New("it keeps what all processes have learnt"))
	}
	if n := len(t.Partitions); n != 1 {
		return refuse(fmt.Sprintf("has %d partitions, it must have one", n), "delete it: it is then created again")
	}
	all, err := WaitForSettings(ctx, c, t.Name)
	settings, known := all[t.Name]
	switch {
	case !known && (errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed)):
		return nil
	case !known:
		return err
	case settings[TimeType] != appendTime:
		return refuse(fmt.Sprintf("has %s %s: processes would not see one time of a row", TimeType, settings[TimeType]),
			"delete it, it is then made with "+appendTime)
	case settings[CleanupPolicy] != "compact":
		return refuse(fmt.Sprintf("has %s %s, which deletes rows", CleanupPolicy, settings[CleanupPolicy]),
			"set it to compact")
	}
	return nil
}
