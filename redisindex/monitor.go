package redisindex

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The kinds of loss: values of the metric label kind, and of the last loss in a marker.
const (
	lossMissing  = "missing"  // a number that must exist is gone
	lossRollback = "rollback" // a number is lower than it was
	lossEviction = "eviction" // INFO says that Redis evicted keys
	lossDamage   = "damage"   // entries or block lists held bytes of another program
)

var lossKinds = []string{lossMissing, lossRollback, lossEviction, lossDamage}

// lossCauses names the possible causes of each kind of loss.
var lossCauses = map[string]string{
	lossMissing:  "it was flushed, keys were deleted, or it came back without its data",
	lossRollback: "it came back from an older snapshot, crashed before its last writes were on disk, or failed over to a replica that lacked them",
	lossEviction: "it evicted keys to free memory",
	lossDamage:   "another program wrote into entries or block lists",
}

// loss is one piece of evidence that Redis has forgotten a part of the index.
type loss struct {
	kind string
	at   time.Time // when it was noticed
	own  bool      // this process noticed it; otherwise another process did, and wrote it into a marker
	past bool      // another process noticed it before this process checked for the first time
}

const (
	// monitorInterval is the longest time that a loss goes unnoticed while Redis replies.
	monitorInterval = 3 * time.Second
	// monitorTimeout bounds one round. Without it, a node that does not reply would keep the monitor from checking the other nodes.
	monitorTimeout = 5 * time.Second
	// lossQuiet is how long after a loss further evidence of the same kind is not logged. A server that evicts keys does so all the
	// time, and other processes report the same loss.
	lossQuiet = time.Minute
)

// The kinds of warning that are not losses.
const (
	warnMemory = "memory"
	warnSave   = "save"
)

// monitor is the state of one call of Index.Monitor.
type monitor struct {
	x        *Index
	warn     func(kind, text string)
	noticed  map[string]time.Time // by kind of loss: when the latest evidence was noticed, by the clock of this machine
	standing map[string]time.Time // by kind of loss: when it happened; for losses whose warning stands
	unsaid   map[string]bool      // kinds of loss that other processes must still be told of
	states   map[string]string    // the texts of warnMemory and warnSave
	nodes    map[string]serverInfo
	refused  bool // the servers refuse INFO
}

func newMonitor(x *Index, warn func(kind, text string)) *monitor {
	return &monitor{
		x: x, warn: warn, noticed: map[string]time.Time{}, standing: map[string]time.Time{}, unsaid: map[string]bool{}, states: map[string]string{},
		nodes: map[string]serverInfo{},
	}
}

// Monitor watches what Redis keeps of the index, until ctx ends. Every three seconds it compares the numbers that only grow (see
// watermarks), looks at a sample of the stored articles (see witnesses), and asks each master for evictions, memory and failed saves.
//
// A loss is logged, counted, and reported to warn. The function warn gets the kind of each warning with a text, and with an empty text
// when the warning is over. The warning of a loss is over when a refill has given all articles back, or one window after its latest
// evidence, because until then copies of lost articles can pass as unique. Other warnings are over when their cause is gone.
//
// Monitor does not report that Redis is away. The caller must call Recall once it has read the notes of the consumer group.
func (x *Index) Monitor(ctx context.Context, warn func(kind, text string)) {
	m := newMonitor(x, warn)
	tick := time.NewTicker(x.watermarks.interval)
	defer tick.Stop()
	m.round(ctx)
	for {
		select {
		case <-tick.C:
			m.round(ctx)
		case <-x.watermarks.wake:
			m.checkLosses(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (m *monitor) round(ctx context.Context) {
	m.askServers(ctx)
	m.checkLosses(ctx)
	m.clearOld()
}

// checkLosses looks for losses and reports them.
func (m *monitor) checkLosses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	for kind := range m.unsaid {
		m.writeLoss(ctx, kind)
	}
	// The witnesses are asked first: whatever took their keys by then shows in the numbers.
	lost, lacking, err := m.x.checkWitnesses(ctx)
	if err != nil && ctx.Err() == nil {
		m.x.log.Debug("a sample of the articles could not be read", "err", err)
	}
	if m.checkNumbers(ctx) {
		m.reportKeys(ctx, lost, lacking)
	}
	if len(m.unsaid) == 0 && m.x.watermarks.isCured() {
		for kind := range m.standing {
			m.x.log.Info("a refill has given the lost articles back: copies of them are found again", "kind", kind)
			m.clear(kind)
		}
	}
}

// checkNumbers compares the numbers and reports losses. It returns false if a node did not show its numbers.
func (m *monitor) checkNumbers(ctx context.Context) bool {
	losses, err := m.x.watermarks.check(ctx, m.x.client)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		_ = eachMaster(ctx, m.x.client, func(ctx context.Context, node *redis.Client) {
			for _, s := range []*redis.Script{markerScript, counterScript} {
				_ = s.Load(ctx, node).Err() // if it fails, the check below fails as well
			}
		})
		var more []loss
		more, err = m.x.watermarks.check(ctx, m.x.client)
		losses = append(losses, more...)
	}
	if err != nil && ctx.Err() == nil {
		m.x.log.Debug("the markers of the index could not be read", "err", err)
	}
	if m.x.watermarks.damaged.Swap(false) {
		losses = append(losses, loss{kind: lossDamage, at: time.Now(), own: true})
		m.writeLoss(ctx, lossDamage)
	}
	for kind, l := range byKind(losses) {
		if kind == lossMissing && time.Since(m.noticed[lossEviction]) < lossQuiet {
			kind = lossEviction // the marker itself was evicted
		}
		m.report(kind, l)
	}
	return err == nil
}

// reportKeys reports that keys are gone: witnesses lack them, or too many candidates have no entry. That is no loss of its own if something
// else that was noticed shortly before explains it, or if a loss of the time of the candidates is known.
func (m *monitor) reportKeys(ctx context.Context, lost []witness, lacking []string) {
	gaps := m.x.gaps.loss()
	if gaps && !m.x.watermarks.hasLoss(time.Now()) {
		lacking = append(lacking, "entries of candidates")
	}
	if len(lacking) == 0 {
		return
	}
	m.x.witnesses.forget(lost)
	m.askServers(ctx) // perhaps the keys were evicted
	for _, at := range m.noticed {
		if time.Since(at) < lossQuiet {
			return
		}
	}
	m.report(lossMissing, loss{kind: lossMissing, at: time.Now(), own: true}, "lacking", lacking)
	m.writeLoss(ctx, lossMissing)
}

// writeLoss makes a loss known to other processes. If that fails, it is tried again in the next round.
func (m *monitor) writeLoss(ctx context.Context, kind string) {
	err := m.x.watermarks.writeLoss(ctx, m.x.client, kind)
	delete(m.unsaid, kind)
	if err != nil {
		m.unsaid[kind] = true
		m.x.log.Debug("the loss could not be reported to other processes", "err", err)
	}
}

// byKind merges the losses of each kind: a cluster has many markers.
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

// report counts and logs a loss, and makes its warning stand. A loss that is a window ago is ignored, and so is one that a refill has cured.
func (m *monitor) report(kind string, l loss, details ...any) {
	now, until := time.Now(), l.at.Add(m.x.cfg.Window)
	if !until.After(now) || !l.own && m.x.watermarks.isCured() {
		return
	}
	if l.own {
		m.x.monitorMetrics.losses.WithLabelValues(kind).Inc()
	}
	if now.Sub(m.noticed[kind]) > lossQuiet {
		m.x.log.Warn("Redis has lost articles: copies of them can pass as unique", append([]any{
			"kind", kind, "cause", lossCauses[kind], "noticed_before_start", l.past, "noticed", stamp(l.at), "until", stamp(until),
			"help", "docs/operations.md, When Redis lost articles",
		}, details...)...)
	}
	m.noticed[kind] = now
	if l.at.After(m.standing[kind]) {
		m.standing[kind] = l.at
	}
	m.x.monitorMetrics.lastLoss.Set(seconds(m.lastLoss()))
	m.warn(kind, fmt.Sprintf("Redis lost articles (%s): noticed %s; until %s copies of articles from before can pass as unique, unless echosieve index refill gives them back",
		lossCauses[kind], stamp(m.standing[kind]), stamp(m.standing[kind].Add(m.x.cfg.Window))))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// seconds is a time in seconds since 1970; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// lastLoss is the time of the latest loss whose warning stands.
func (m *monitor) lastLoss() (last time.Time) {
	for _, at := range m.standing {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// clearOld ends the warnings of losses that are a window ago.
func (m *monitor) clearOld() {
	for kind, at := range m.standing {
		if time.Since(at) >= m.x.cfg.Window {
			m.x.log.Info("the loss in Redis is a window ago: no article that was lost can be an original any more", "kind", kind)
			m.clear(kind)
		}
	}
}

// clear ends the warning of a kind of loss.
func (m *monitor) clear(kind string) {
	delete(m.standing, kind)
	m.x.monitorMetrics.lastLoss.Set(seconds(m.lastLoss()))
	m.warn(kind, "")
}

// askServers asks every master for its state. The state of a master that does not answer stays as it was.
func (m *monitor) askServers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	var mu sync.Mutex // eachMaster asks all nodes at the same time
	masters, infos := map[string]bool{}, map[string]serverInfo{}
	var refused error
	err := eachMaster(ctx, m.x.client, func(ctx context.Context, node *redis.Client) {
		info, err := askInfo(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		name := nodeName(node)
		masters[name] = true
		switch {
		case err == nil:
			infos[name] = info
		case isRefused(err):
			refused = err
		}
	})
	if err != nil {
		return // the masters are unknown; the health probe says why
	}
	if refused != nil && !m.refused {
		m.x.log.Warn("Redis does not answer INFO: evictions, memory and failed saves are not watched", "err", refused, "remedy", "grant +info")
	}
	m.refused = refused != nil || m.refused && len(infos) == 0
	for name := range m.nodes {
		if !masters[name] {
			delete(m.nodes, name)
			m.x.monitorMetrics.forget(name)
		}
	}
	for name, info := range infos {
		m.update(ctx, name, info)
	}
	m.setState(warnMemory, serverInfo.memoryWarning)
	m.setState(warnSave, serverInfo.saveWarning)
}

// update takes over the state of a master, and reports keys that it has evicted since the last round.
func (m *monitor) update(ctx context.Context, name string, info serverInfo) {
	before, known := m.nodes[name]
	m.nodes[name] = info
	m.x.monitorMetrics.memoryUsed.WithLabelValues(name).Set(float64(info.memoryUsed))
	m.x.monitorMetrics.memoryLimit.WithLabelValues(name).Set(float64(info.memoryLimit))
	failing := 0.0
	if info.unsaved != "" {
		failing = 1
	}
	m.x.monitorMetrics.saveFailing.WithLabelValues(name).Set(failing)
	if before.runID != info.runID {
		before.evicted = 0 // the server was restarted, and counts from zero
	}
	if keys := info.evicted - before.evicted; known && keys > 0 {
		m.report(lossEviction, loss{kind: lossEviction, at: time.Now(), own: true}, "node", name, "keys", keys, "policy", info.policy)
		m.writeLoss(ctx, lossEviction)
	}
}

// setState sets a warning about the present state. It stands as long as any node has the problem. The function of returns a node's
// problem, or "".
func (m *monitor) setState(kind string, of func(serverInfo) string) {
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

// fullShare is the share of maxmemory from which Check and the monitor warn. At the whole of it Redis refuses writes or evicts keys.
const fullShare = 0.8

// serverInfo is the part of a server's reply to INFO that the index uses. A field that the server does not name is zero.
type serverInfo struct {
	version     string
	runID       string // names the process, so it changes with each restart
	policy      string // maxmemory-policy
	memoryUsed  int64  // bytes
	memoryLimit int64  // maxmemory in bytes; 0: none
	evicted     int64  // keys since the server's start
	unsaved     string // the field of INFO that says that the last write to disk failed; empty: none says so
}

// askInfo asks a server for the default sections of INFO. Redis 6.2 accepts no list of sections.
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

// memoryWarning is half a sentence if the server's memory is nearly full, and empty otherwise.
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

// saveWarning is half a sentence if the server could not save its data, and empty otherwise.
func (i serverInfo) saveWarning() string {
	if i.unsaved == "" {
		return ""
	}
	return "could not write its data to disk (" + i.unsaved + "): changes that are not saved are lost at its next restart"
}
