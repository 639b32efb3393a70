package keyspace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/redisserver"
)

func TestSlotOf(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	node := cluster.Client(cluster.Servers[0])
	for _, cfg := range []string{"ns:", "{ns}:"} {
		names := Keys{Prefix: cfg}.Markers(true)
		parts := map[int64]bool{}
		for _, name := range names {
			slot := node.ClusterKeySlot(t.Context(), name).Val()
			parts[slot*clusterMarkers/slotCount] = true
			if _, tag, ok := strings.Cut(strings.TrimSuffix(name, "}"), "life:{"); ok {
				require.EqualValues(t, slotOf(tag), slot, name)
			}
		}
		require.Len(t, parts, len(names), "one in each part of the slots")
	}
	require.Len(t, Keys{Prefix: "ns:"}.Markers(true), clusterMarkers)
	require.Len(t, Keys{Prefix: "{ns}:"}.Markers(true), 1)
}
