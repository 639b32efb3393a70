package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"echosieve/test/torture/internal/network"
	"echosieve/test/torture/internal/rig"
)

// registryAway stops the schema registry and starts it again. The articles name new schemas all the time, so
// records wait meanwhile.
func registryAway(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	return r.Outage(ctx, "registry", between(random, 4*time.Second, 8*time.Second), func() (string, error) {
		r.Registry.Stop()
		return network.CheckRefused(ctx, r.Registry.Addr)
	}, func() error {
		r.Registry.Restart()
		return nil
	})
}
