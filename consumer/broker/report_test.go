package broker

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// The answers that belong to every rebalance are a failure once they have come for two sessions.
func TestEndlessRebalanceIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewMetrics(nil)
		require.NoError(t, err)
		var failing error
		r := NewReporter(m, slog.New(slog.DiscardHandler), func(_ string, _ fmt.Stringer, err error) { failing = err },
			time.Minute)
		for range 2 {
			r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
			time.Sleep(2*time.Minute - 1)
			r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
			require.NoError(t, failing)
			r.OK(OpJoin, "group") // then time begins again
		}
		r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
		time.Sleep(2 * time.Minute)
		r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
		require.ErrorIs(t, failing, kafka.RebalanceInProgress)
		r.OK(OpJoin, "group")
		require.NoError(t, failing)
	})
}

// A commit that brokers refuse for its label says what to do.
func TestLongLabelsAreExplained(t *testing.T) {
	require.ErrorContains(t, Explain(kafka.OffsetMetadataTooLarge), "offset.metadata.max.bytes")
}
