package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// loadFlags loads the configuration from flags alone.
func loadFlags(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	t.Setenv(envFile, "")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	return Load(flags)
}

// Every number states its range, and no absurd value passes: negative, zero where zero has no meaning, the
// smallest and the largest of the type.
func TestNoAbsurdNumberPasses(t *testing.T) {
	absurd := map[string][]string{
		"int":      {fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64), "-2"},
		"size":     {fmt.Sprint(int64(math.MaxInt64 / 2)), "0", "1", "1000"},
		"duration": {"2562047h", "-1ns", "1ns", "1us"},
		"float":    {"-0.001", "1.001", "1e300"},
	}
	for _, k := range Schema().Keys() {
		if !k.IsNumber() {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			require.NotEmpty(t, k.Range, "a number without a range can be absurd")
			values := absurd[k.Type()]
			if !strings.HasPrefix(k.Range, "0") && !strings.HasPrefix(k.Range, "-1..") {
				values = append(values, "0")
			}
			for _, value := range values {
				if k.Name == "input.max_future" && !strings.HasPrefix(value, "-") && value != "2562047h" {
					continue // it only counts, and nothing waits for it
				}
				_, err := loadFlags(t, "--"+k.Name+"="+value)
				require.ErrorContains(t, err, k.Name, value)
				require.Equal(t, 1, strings.Count(err.Error(), k.Name+" "), "one mistake has one message: %s", err)
			}
		})
	}
}

// Each of these values would make the service useless, so loading the configuration fails.
func TestSettingsWithoutSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--kafka.max_message_bytes=1024"}, // every article would be a dead letter
		{"--kafka.max_message_bytes=2632"},
		{"--redis.cluster", "--redis.namespace={news}"},
		{"--redis.cluster", "--redis.namespace=a{b}c"},
		{"--redis.wait_replicas=1", "--redis.wait_timeout=1ns"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, err := loadFlags(t, args...)
			require.Error(t, err)
		})
	}
}
