package consumer

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetention(t *testing.T) {
	require.Equal(t, time.Hour, topicSettings{cleanupPolicy: "delete", retentionTime: "3600000"}.retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		topicSettings{cleanupPolicy: "delete", retentionTime: "-1"}.retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		topicSettings{cleanupPolicy: "compact", retentionTime: "3600000"}.retention())
}
