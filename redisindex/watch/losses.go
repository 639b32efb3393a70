// Package watch says what has become of an index: that Redis has lost a part of it, or lacks memory (Losses),
// and that the consumer group has its articles in another index (Handover). Both compare Redis with what the
// group has committed (Label).
package watch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Losses notices that Redis has lost a part of an index, and says so. Claims tell it what they have seen of
// Redis. Safe for concurrent use.
type Losses struct {
	*watermarks
	session   *connection.Session
	window    time.Duration
	interval  time.Duration // monitorInterval; tests set a shorter one
	log       *slog.Logger
	metrics   *lossMetrics
	witnesses witnesses
}

// NewLosses returns the losses of an index with this window. A nil reg leaves the metrics unregistered.
func NewLosses(client redis.UniversalClient, keys keyspace.Keys, window time.Duration, reg prometheus.Registerer,
	log *slog.Logger) *Losses {
	return &Losses{
		watermarks: newWatermarks(client, keys), window: window, interval: monitorInterval, log: log,
		metrics: newLossMetrics(reg),
		session: connection.NewSession(client, keys.ID.Namespace, markerScript, counterScript),
	}
}

// The kinds of loss: values of the metric label kind, and of the last loss in a marker.
const (
	lossMissing  = "missing"  // a number that must exist is gone
	lossRollback = "rollback" // a number is lower than it was
	lossEviction = "eviction" // INFO says that Redis evicted keys
	lossDamage   = "damage"   // entries or block lists held bytes of another program
)

// lossCauses names the possible causes of each kind of loss.
var lossCauses = map[string]string{
	lossMissing: "it was flushed, keys were deleted, or it came back without its data",
	lossRollback: "it came back from an older snapshot, crashed before its last writes were on disk, or failed " +
		"over to a replica that lacked them",
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
	// monitorTimeout bounds one round. Without it, a node that does not reply would keep the monitor from
	// checking the other nodes.
	monitorTimeout = 5 * time.Second
	// lossQuiet is how long after a loss further evidence of the same kind is not logged. A server that
	// evicts keys does so all the time, and other processes report the same loss.
	lossQuiet = time.Minute
)

// Monitor watches what Redis keeps of the index, until ctx ends. Every three seconds it compares the numbers
// that only grow (see watermarks), looks at a sample of the stored articles (see witnesses), and asks each
// master for evictions, memory and failed saves.
//
// A loss is logged, counted, and reported to warn. The function warn gets the kind of each warning with a
// text, and with an empty text when the warning is over. The warning of a loss is over when a refill has
// given all articles back, or one window after its latest evidence, because until then copies of lost
// articles can pass as unique. Other warnings are over when their cause is gone.
//
// Monitor does not report that Redis is away. The caller must call Recall once it has read the labels of the
// consumer group.
func (l *Losses) Monitor(ctx context.Context, warn func(kind, text string)) {
	m := newMonitor(l, warn)
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	m.round(ctx)
	for {
		select {
		case <-tick.C:
			m.round(ctx)
		case <-l.wake:
			m.checkLosses(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// monitor is the state of one call of Losses.Monitor.
type monitor struct {
	l        *Losses
	warn     func(kind, text string)
	noticed  map[string]time.Time // by kind of loss: when the latest evidence was noticed, by the clock of this machine
	standing map[string]time.Time // by kind of loss: when it happened; for losses whose warning stands
	unsaid   map[string]bool      // kinds of loss that other processes must still be told of
	states   map[string]string    // the texts of warnMemory and warnSave
	nodes    map[string]connection.ServerInfo
	refused  bool // the servers refuse INFO
}

func newMonitor(l *Losses, warn func(kind, text string)) *monitor {
	return &monitor{
		l: l, warn: warn, noticed: map[string]time.Time{}, standing: map[string]time.Time{},
		unsaid: map[string]bool{}, states: map[string]string{},
		nodes: map[string]connection.ServerInfo{},
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
	lacking, err := m.l.checkWitnesses(ctx)
	if err != nil && ctx.Err() == nil {
		m.l.log.Debug("a sample of the articles could not be read", "err", err)
	}
	if m.checkNumbers(ctx) {
		m.reportKeys(ctx, lacking)
	}
	if len(m.unsaid) == 0 && m.l.isCured() {
		for kind := range m.standing {
			m.l.log.Info("a refill has given the lost articles back: copies of them are found again", "kind", kind)
			m.clear(kind)
		}
	}
}

// checkNumbers compares the numbers and reports losses. It returns false if a node did not show its numbers.
func (m *monitor) checkNumbers(ctx context.Context) bool {
	var losses []loss
	var err error
	for range 2 { // a server that was restarted has lost the scripts
		_ = m.l.session.EnsureScripts(ctx) // if it fails, the check below fails as well
		var found []loss
		found, err = m.l.check(ctx)
		losses = append(losses, found...)
		if !m.l.session.LoadAgain(err) {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		m.l.log.Debug("the markers of the index could not be read", "err", err)
	}
	if m.l.damaged.Swap(false) {
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

// reportKeys reports that keys are gone: witnesses lack them. That is no loss of its own if something else
// that was noticed shortly before explains it.
func (m *monitor) reportKeys(ctx context.Context, lacking []string) {
	if len(lacking) == 0 {
		return
	}
	m.l.witnesses.forget() // others may lack keys, too: that is this loss
	m.askServers(ctx)      // perhaps the keys were evicted
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
	err := m.l.writeLoss(ctx, kind)
	delete(m.unsaid, kind)
	if err != nil {
		m.unsaid[kind] = true
		m.l.log.Debug("the loss could not be reported to other processes", "err", err)
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

// report counts and logs a loss, and makes its warning stand. A loss is ignored if a window has passed
// since it, or if a refill has cured it.
func (m *monitor) report(kind string, l loss, details ...any) {
	now, until := time.Now(), l.at.Add(m.l.window)
	if !until.After(now) || !l.own && m.l.isCured() {
		return
	}
	if l.own {
		m.l.metrics.losses.WithLabelValues(kind).Inc()
	}
	if now.Sub(m.noticed[kind]) > lossQuiet {
		m.l.log.Warn("Redis has lost articles: copies of them can pass as unique", append([]any{
			"kind", kind, "cause", lossCauses[kind], "noticed_before_start", l.past, "noticed", stamp(l.at), "until",
			stamp(until),
			"help", "docs/operations.md, When Redis lost articles",
		}, details...)...)
	}
	m.noticed[kind] = now
	if l.at.After(m.standing[kind]) {
		m.standing[kind] = l.at
	}
	m.showLastLoss()
	m.warn(kind, fmt.Sprintf(
		"Redis lost articles (%s): noticed %s; until %s copies of articles from before can pass as unique, unless "+
			"echosieve index refill gives them back",
		lossCauses[kind], stamp(m.standing[kind]), stamp(m.standing[kind].Add(m.l.window))))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// showLastLoss sets the metric to the time of the latest loss whose warning stands.
func (m *monitor) showLastLoss() {
	last := 0.0
	for _, at := range m.standing {
		last = max(last, float64(at.UnixMilli())/1000)
	}
	m.l.metrics.lastLoss.Set(last)
}

// clearOld ends the warning of a loss when a window has passed since it.
func (m *monitor) clearOld() {
	for kind, at := range m.standing {
		if time.Since(at) >= m.l.window {
			m.l.log.Info("one window has passed since Redis lost articles: they are too old to be originals now",
				"kind", kind)
			m.clear(kind)
		}
	}
}

// clear ends the warning of a kind of loss.
func (m *monitor) clear(kind string) {
	delete(m.standing, kind)
	m.showLastLoss()
	m.warn(kind, "")
}
