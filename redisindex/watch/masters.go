package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/connection"
)

// The kinds of warning that are not losses.
const (
	warnMemory = "memory"
	warnSave   = "save"
)

// askServers asks every master for its state. The state of a master that does not answer stays as it was.
func (m *monitor) askServers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	var mu sync.Mutex // eachMaster asks all nodes at the same time
	masters, infos := map[string]bool{}, map[string]connection.ServerInfo{}
	var refused error
	err := connection.EachMaster(ctx, m.l.client, func(ctx context.Context, node *redis.Client) error {
		info, err := connection.AskInfo(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		name := connection.NodeName(node)
		masters[name] = true
		switch {
		case err == nil:
			infos[name] = info
		case connection.IsRefused(err):
			refused = err
		}
		return nil
	})
	if err != nil {
		return // the masters are unknown; the health probe says why
	}
	if refused != nil && !m.refused {
		m.l.log.Warn("Redis does not answer INFO: evictions, memory and failed saves are not watched", "err", refused,
			"remedy", "grant +info")
	}
	m.refused = refused != nil || m.refused && len(infos) == 0
	for name := range m.nodes {
		if !masters[name] {
			delete(m.nodes, name)
			m.l.metrics.forget(name)
		}
	}
	for name, info := range infos {
		m.update(ctx, name, info)
	}
	m.setState(warnMemory, connection.ServerInfo.MemoryWarning)
	m.setState(warnSave, connection.ServerInfo.SaveWarning)
}

// update takes over the state of a master, and reports keys that it has evicted since the last round.
func (m *monitor) update(ctx context.Context, name string, info connection.ServerInfo) {
	before, known := m.nodes[name]
	m.nodes[name] = info
	m.l.metrics.memoryUsed.WithLabelValues(name).Set(float64(info.MemoryUsed))
	m.l.metrics.memoryLimit.WithLabelValues(name).Set(float64(info.MemoryLimit))
	failing := 0.0
	if info.Unsaved != "" {
		failing = 1
	}
	m.l.metrics.saveFailing.WithLabelValues(name).Set(failing)
	if before.RunID != info.RunID {
		before.Evicted = 0 // the server was restarted, and counts from zero
	}
	if keys := info.Evicted - before.Evicted; known && keys > 0 {
		m.report(lossEviction, loss{kind: lossEviction, at: time.Now(), own: true}, "node", name, "keys", keys,
			"policy", info.Policy)
		m.writeLoss(ctx, lossEviction)
	}
}

// setState sets a warning about the present state. It stands as long as any node has the problem. The
// function of returns a node's problem, or "".
func (m *monitor) setState(kind string, of func(connection.ServerInfo) string) {
	var texts []string
	for name, info := range m.nodes {
		if text := of(info); text != "" {
			texts = append(texts, name+" "+text)
		}
	}
	slices.Sort(texts)
	text := strings.Join(texts, "; ")
	switch before := m.states[kind]; {
	case before == "" && text != "":
		m.l.log.Warn("Redis needs attention", "kind", kind, "problem", text)
	case before != "" && text == "":
		m.l.log.Info("Redis no longer needs attention", "kind", kind)
	}
	if m.states[kind] != text {
		m.states[kind] = text
		m.warn(kind, text)
	}
}
