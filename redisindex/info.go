package redisindex

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// fullShare is the share of maxmemory from which Check and the monitor warn: at all of it, Redis refuses writes.
const fullShare = 0.8

// serverInfo is what INFO says of one server. A field that the server does not name is zero.
type serverInfo struct {
	version     string
	runID       string // of the process: another one after each restart
	policy      string // maxmemory-policy
	memoryUsed  int64  // bytes
	memoryLimit int64  // maxmemory in bytes; 0: none
	evicted     int64  // keys since the server's start
	unsaved     string // the field that says that the last write to disk failed; empty: none does
}

// askInfo asks a server for the default sections: Redis 6.2 takes no list of sections.
func askInfo(ctx context.Context, server *redis.Client) (serverInfo, error) {
	text, err := server.Info(ctx).Result()
	if err != nil {
		return serverInfo{}, err
	}
	return parseInfo(text), nil
}

func parseInfo(text string) serverInfo {
	var i serverInfo
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			i.version = value
		case "run_id":
			i.runID = value
		case "maxmemory_policy":
			i.policy = value
		case "used_memory":
			i.memoryUsed, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory":
			i.memoryLimit, _ = strconv.ParseInt(value, 10, 64)
		case "evicted_keys":
			i.evicted, _ = strconv.ParseInt(value, 10, 64)
		case "rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status":
			if value == "err" {
				i.unsaved = name
			}
		}
	}
	return i
}

// The warnings that Check and the monitor have in common: half a sentence each, empty if all is well.

func (i serverInfo) memoryWarning() string {
	if i.memoryLimit == 0 || float64(i.memoryUsed) < fullShare*float64(i.memoryLimit) {
		return ""
	}
	const mib = 1 << 20
	return fmt.Sprintf("uses %d of %d MiB (maxmemory): %s", i.memoryUsed/mib, i.memoryLimit/mib, i.whenFull())
}

func (i serverInfo) whenFull() string {
	if i.policy == "" || i.policy == "noeviction" {
		return "when it is full, Redis refuses writes, and the service waits"
	}
	return "when it is full, Redis drops articles (" + i.policy + "), and their copies pass as unique"
}

func (i serverInfo) saveWarning() string {
	if i.unsaved == "" {
		return ""
	}
	return "could not write its data to disk (" + i.unsaved + "): what is not saved is lost at its next restart"
}

// isRefused says whether a server answered that it does not answer such questions: no right, or no such command.
func isRefused(err error) bool { return isRightMissing(err) || redis.HasErrorPrefix(err, "ERR") }
