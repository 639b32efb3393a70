package connection

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// fullShare is the share of maxmemory from which Check and the monitor warn. At the whole of it Redis refuses
// writes or evicts keys.
const fullShare = 0.8

// ServerInfo is the part of a server's reply to INFO that the index uses. A field that the server does not
// name is zero.
type ServerInfo struct {
	version     string
	master      bool // its role
	replicas    int
	RunID       string // names the process, so it changes with each restart
	Policy      string // maxmemory-policy
	MemoryUsed  int64  // bytes
	MemoryLimit int64  // maxmemory in bytes; 0: none
	Evicted     int64  // keys since the server's start
	Unsaved     string // the field of INFO that says that the last write to disk failed; empty: none says so
}

// AskInfo asks a server for the default sections of INFO. Redis 6.2 accepts no list of sections.
func AskInfo(ctx context.Context, server *redis.Client) (ServerInfo, error) {
	text, err := server.Info(ctx).Result()
	if err != nil {
		return ServerInfo{}, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(fields[name], 10, 64)
		return n
	}
	i := ServerInfo{
		version: fields["redis_version"], master: fields["role"] == "master", replicas: int(number("connected_slaves")),
		RunID: fields["run_id"], Policy: fields["maxmemory_policy"], MemoryUsed: number("used_memory"),
		MemoryLimit: number("maxmemory"), Evicted: number("evicted_keys"),
	}
	for _, name := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if fields[name] == "err" {
			i.Unsaved = name
		}
	}
	return i, nil
}

// MemoryWarning is half a sentence if the server's memory is nearly full, and empty otherwise.
func (i ServerInfo) MemoryWarning() string {
	if i.MemoryLimit == 0 || float64(i.MemoryUsed) < fullShare*float64(i.MemoryLimit) {
		return ""
	}
	const mib = 1 << 20
	return fmt.Sprintf("uses %d of %d MiB (maxmemory): %s", i.MemoryUsed/mib, i.MemoryLimit/mib, i.whenFull())
}

func (i ServerInfo) whenFull() string {
	if i.Policy == "" || i.Policy == "noeviction" {
		return "when it is full, Redis refuses writes, and the service waits"
	}
	return "when it is full, Redis drops articles (" + i.Policy + "), and their copies pass as unique"
}

// SaveWarning is half a sentence if the server could not save its data, and empty otherwise.
func (i ServerInfo) SaveWarning() string {
	if i.Unsaved == "" {
		return ""
	}
	return "could not write its data to disk (" + i.Unsaved +
		"): changes that are not saved are lost at its next restart"
}
