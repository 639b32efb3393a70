package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/forged"
	"echosieve/test/torture/internal/rig"
)

// forgeOutputs appends records to the output topics under the producer ids of the processes, which are none of
// their outputs. The processes lose the order of their numbers, take their partitions over again, and meet the
// records when they read back.
func forgeOutputs(ctx context.Context, r *rig.Round, random *rand.Rand, _ time.Duration) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(r.KafkaAddrs...), kgo.AlwaysRetryEOF())
	if err != nil {
		return "", err
	}
	defer client.Close()
	far := []string{
		fmt.Sprintf("%s/%d/9223372036854775807", r.Topic, random.IntN(r.Partitions)),
		fmt.Sprintf("%s/%d/34359738368", r.Topic, random.IntN(r.Partitions)),
		"other/0/0", "no coordinates", "",
	}
	total := 0
	for _, topic := range []string{r.Topics().Unique, r.Topics().Duplicate} {
		for p := range int32(r.Partitions) {
			// An error says that the producer has written meanwhile. What was stored before counts.
			n, _ := forged.Append(ctx, client, topic, p, pipeline.HeaderInput, far, 0)
			total += n
		}
	}
	if total == 0 {
		return "", errors.New("no producer had written to the output topics")
	}
	return fmt.Sprintf("%d records of strangers are stored", total), nil
}
