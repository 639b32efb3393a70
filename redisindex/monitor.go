package redisindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// monitorInterval is how long a loss can go unnoticed at most, as long as Redis answers.
	monitorInterval = 3 * time.Second
	// monitorTimeout bounds one round of questions. A node that hangs must not keep the others from being asked again.
	monitorTimeout = 5 * time.Second
	// lossQuiet is how long after a loss of one kind further evidence of that kind is not logged: a server that evicts does so
	// all the time, and other processes tell of the same loss.
	lossQuiet = time.Minute
)

// The kinds of warning beside those of losses.
const (
	warnMemory = "memory"
	warnSave   = "save"
)

// monitor is the state of one Monitor call.
type monitor struct {
	x        *Index
	warn     func(kind, text string)
	told     map[string]time.Time // by kind of loss: the last evidence, by this machine's clock
	standing map[string]time.Time // by kind of loss: when it happened, as long as a warning stands
	states   map[string]string    // the texts of warnMemory and warnSave
	nodes    map[string]serverInfo
	refused  bool // INFO is
}

// Monitor watches what Redis keeps of the index, until ctx ends: every three seconds it compares the numbers that only grow
// (see life) and asks each master for evictions, memory and failed saves. A loss is logged, counted and given to warn, which
// hears the kind of each warning with a text, and with an empty text when the warning is over: a loss one window after
// its last evidence, for until then copies of lost articles can pass as unique; another warning with its cause.
// A Redis that is away is no concern of Monitor. Call Recall, too, once it is known what the group remembers.
func (x *Index) Monitor(ctx context.Context, warn func(kind, text string)) {
	m := &monitor{
		x: x, warn: warn, told: map[string]time.Time{}, standing: map[string]time.Time{}, states: map[string]string{},
		nodes: map[string]serverInfo{},
	}
	tick := time.NewTicker(x.life.interval)
	defer tick.Stop()
	m.round(ctx)
	for {
		select {
		case <-tick.C:
			m.round(ctx)
		case <-x.life.wake:
			m.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (m *monitor) round(ctx context.Context) {
	m.askServers(ctx)
	m.look(ctx)
	m.clearOld()
}

// look compares the numbers and tells of losses.
func (m *monitor) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	losses, err := m.x.life.look(ctx, m.x.client)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		_ = eachMaster(ctx, m.x.client, func(ctx context.Context, node *redis.Client) {
			for _, s := range []*redis.Script{lifeScript, counterScript} {
				_ = s.Load(ctx, node).Err() // the next look fails again
			}
		})
		var more []loss
		more, err = m.x.life.look(ctx, m.x.client)
		losses = append(losses, more...)
	}
	if err != nil && ctx.Err() == nil {
		m.x.log.Debug("the index's markers could not be read", "err", err)
	}
	if m.x.life.damaged.Swap(false) {
		losses = append(losses, loss{kind: lossDamage, at: time.Now(), own: true})
		if err := m.x.life.tell(ctx, m.x.client, lossDamage); err != nil {
			m.x.log.Debug("other processes could not be told of the loss", "err", err)
		}
	}
	for kind, l := range byKind(losses) {
		if kind == lossMissing && time.Since(m.told[lossEviction]) < lossQuiet {
			kind = lossEviction // of the marker itself
		}
		m.lost(kind, l)
	}
}

// byKind makes one of the losses of a kind: a cluster has many markers.
func byKind(losses []loss) map[string]loss {
	kinds := map[string]loss{}
	for _, l := range losses {
		if known, ok := kinds[l.kind]; ok {
			l.own, l.past = l.own || known.own, l.past && known.past
			if known.at.After(l.at) {
				l.at = known.at
			}
		}
		kinds[l.kind] = l
	}
	return kinds
}

// lost tells of a loss.
func (m *monitor) lost(kind string, l loss, details ...any) {
	now, until := time.Now(), l.at.Add(m.x.cfg.Window)
	if !until.After(now) {
		return
	}
	if l.own {
		m.x.watched.losses.WithLabelValues(kind).Inc()
	}
	if now.Sub(m.told[kind]) > lossQuiet {
		m.x.log.Warn("Redis has lost articles: copies of them can pass as unique", append([]any{
			"kind", kind, "cause", lossCauses[kind], "noticed_before_start", l.past, "noticed", stamp(l.at), "until", stamp(until),
			"help", "docs/operations.md, When Redis lost articles",
		}, details...)...)
	}
	m.told[kind] = now
	if l.at.After(m.standing[kind]) {
		m.standing[kind] = l.at
	}
	m.x.watched.lastLoss.Set(seconds(m.lastLoss()))
	m.warn(kind, fmt.Sprintf("Redis lost articles (%s): noticed %s; until %s copies of articles from before can pass as unique",
		lossCauses[kind], stamp(m.standing[kind]), stamp(m.standing[kind].Add(m.x.cfg.Window))))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func (m *monitor) lastLoss() (last time.Time) {
	for _, at := range m.standing {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// clearOld takes back the warnings of losses that no longer matter.
func (m *monitor) clearOld() {
	for kind, at := range m.standing {
		if time.Since(at) >= m.x.cfg.Window {
			delete(m.standing, kind)
			m.x.watched.lastLoss.Set(seconds(m.lastLoss()))
			m.warn(kind, "")
			m.x.log.Info("the loss in Redis is a window ago: nothing that was lost can be an original any more", "kind", kind)
		}
	}
}

// askServers asks every master for its state. What one does not answer stays as it was.
func (m *monitor) askServers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	var mu sync.Mutex // nodes answer at the same time
	masters, answers := map[string]bool{}, map[string]serverInfo{}
	var refused error
	err := eachMaster(ctx, m.x.client, func(ctx context.Context, node *redis.Client) {
		info, err := askInfo(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		name := nodeName(node)
		masters[name] = true
		switch {
		case err == nil:
			answers[name] = info
		case isRefused(err):
			refused = err
		}
	})
	if err != nil {
		return // nobody knows the masters: the health probe says why
	}
	if refused != nil && !m.refused {
		m.x.log.Warn("Redis does not answer INFO: evictions, memory and failed saves are not watched", "err", refused, "remedy", "grant +info")
	}
	m.refused = refused != nil || m.refused && len(answers) == 0
	for name := range m.nodes {
		if !masters[name] {
			delete(m.nodes, name)
			m.x.watched.forget(name)
		}
	}
	for name, info := range answers {
		m.answered(ctx, name, info)
	}
	m.state(warnMemory, serverInfo.memoryWarning)
	m.state(warnSave, serverInfo.saveWarning)
}

// answered takes what a master says of itself.
func (m *monitor) answered(ctx context.Context, name string, info serverInfo) {
	before, known := m.nodes[name]
	m.nodes[name] = info
	m.x.watched.memoryUsed.WithLabelValues(name).Set(float64(info.memoryUsed))
	m.x.watched.memoryLimit.WithLabelValues(name).Set(float64(info.memoryLimit))
	failing := 0.0
	if info.unsaved != "" {
		failing = 1
	}
	m.x.watched.saveFailing.WithLabelValues(name).Set(failing)
	if before.runID != info.runID {
		before.evicted = 0 // restarted: it counts from zero
	}
	if keys := info.evicted - before.evicted; known && keys > 0 {
		m.lost(lossEviction, loss{kind: lossEviction, at: time.Now(), own: true}, "node", name, "keys", keys, "policy", info.policy)
		if err := m.x.life.tell(ctx, m.x.client, lossEviction); err != nil {
			m.x.log.Debug("other processes could not be told of the loss", "err", err)
		}
	}
}

// state keeps a warning that is about the present: it stands as long as any node has it.
func (m *monitor) state(kind string, of func(serverInfo) string) {
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
		m.x.log.Warn("Redis needs attention", "kind", kind, "problem", text)
	case before != "" && text == "":
		m.x.log.Info("Redis no longer needs attention", "kind", kind)
	}
	if m.states[kind] != text {
		m.states[kind] = text
		m.warn(kind, text)
	}
}

// The kinds of loss: the label kind, and what a marker in Redis remembers of its last loss.
const (
	lossMissing  = "missing"  // a number that must be there is gone
	lossRollback = "rollback" // a number is lower than it was
	lossEviction = "eviction" // Redis says that it evicted keys
	lossDamage   = "damage"   // entries or block lists held foreign bytes
)

var lossKinds = []string{lossMissing, lossRollback, lossEviction, lossDamage}

// lossCauses says what can be behind a loss of each kind.
var lossCauses = map[string]string{
	lossMissing:  "it was flushed, keys were deleted, or it came back without its data",
	lossRollback: "it came back from an older snapshot, crashed before its last writes were on disk, or failed over to a replica that lacked them",
	lossEviction: "it evicted keys to free memory",
	lossDamage:   "another program wrote into entries or block lists",
}

// loss is one piece of evidence that Redis has forgotten a part of the index.
type loss struct {
	kind string
	at   time.Time // noticed
	own  bool      // by this process; else another one has noticed it and left word in Redis
	past bool      // before this process looked for the first time
}
