package broker

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetention(t *testing.T) {
	require.Equal(t, time.Hour, TopicSettings{CleanupPolicy: "delete", retentionTime: "3600000"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "delete", retentionTime: "-1"}.Retention())
	require.Equal(t, time.Duration(math.MaxInt64),
		TopicSettings{CleanupPolicy: "compact", retentionTime: "3600000"}.Retention())
}
