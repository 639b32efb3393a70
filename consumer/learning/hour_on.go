//go:build crashpoints

package learning

import (
	"os"
	"time"
)

// hour is the grid of begins. A build for tests can shorten it by the environment variable ECHOSIEVE_TEST_HOUR.
var hour = func() time.Duration {
	if short, err := time.ParseDuration(os.Getenv("ECHOSIEVE_TEST_HOUR")); err == nil && short > 0 {
		return short
	}
	return time.Hour
}()
