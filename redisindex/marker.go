package redisindex

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// clusterMarkers is the number of markers on a cluster, evenly over the slots: every master that serves 512 slots in a row
// holds at least one. A master without one loses its data unnoticed.
const clusterMarkers = 64

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

var (
	//go:embed life.lua
	lifeSource string
	//go:embed counter.lua
	counterSource string

	lifeScript    = redis.NewScript(lifeSource)
	counterScript = redis.NewScript(counterSource)
)

// markers names the markers of an index: one key for each node at least. A single server has one, and so has a namespace
// with a hash tag, all keys of which lie on one node.
func (k keys) markers(cluster bool) []string {
	if !cluster || strings.Contains(k.prefix, "{") {
		return []string{k.prefix + "life"}
	}
	names := make([]string, clusterMarkers)
	for n, missing := 0, clusterMarkers; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := slotOf(tag) * clusterMarkers / slotCount; names[at] == "" {
			names[at] = k.prefix + "life:{" + tag + "}"
			missing--
		}
	}
	return names
}

// slotOf is the slot of a hash tag: CRC-16/XMODEM modulo the number of slots, as the cluster specification of Redis says.
func slotOf(tag string) int {
	crc := uint16(0)
	for _, c := range []byte(tag) {
		crc ^= uint16(c) << 8
		for range 8 {
			if carry := crc&0x8000 != 0; carry {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}
