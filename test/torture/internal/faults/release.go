package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// releases is how many drops one fault takes back.
const releases = 4

// release takes drops back as an operator does, while other parts have their faults. The first call of each is killed.
func release(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	var dropped []*kgo.Record
	err := process.Until(ctx, rig.ReadyTimeout, time.Second, func() (err error) {
		dropped, err = kafkaserver.ReadAll(ctx, r.KafkaAddrs, []string{r.Topics().Duplicate},
			kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		if err == nil && len(dropped) < releases {
			err = errors.New("nothing is dropped yet")
		}
		return err
	})
	if err != nil {
		return "", err
	}
	for _, i := range random.Perm(len(dropped))[:releases] {
		call := func(ctx context.Context) error {
			args := r.Arguments("release", ledger.Coordinates(dropped[i]))
			out, err := exec.CommandContext(ctx, r.Binary, args...).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("release: %w: %s", err, out)
			}
			return err
		}
		killed, kill := context.WithTimeout(ctx, between(random, 100*time.Millisecond, 2*time.Second))
		_ = call(killed)
		kill()
		if err := process.Until(ctx, rig.ReadyTimeout, time.Second, func() error { return call(ctx) }); err != nil {
			return "", err
		}
		r.Released.Store(ledger.Headers(dropped[i])[pipeline.HeaderInput], true)
	}
	return fmt.Sprintf("%d records are released", releases), nil
}
