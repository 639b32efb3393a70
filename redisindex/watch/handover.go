package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Handover notices that a consumer group has worked on another index than this process: its articles stand
// there, so their copies pass here as unique.
//
// Each commit of the group names the index in which the records below the offset were decided (Label). Two
// findings follow:
//
//   - This index lacks articles: a partition's commit names another index, and nobody has filled this one up
//     to that offset. It does not matter whether that other process still runs. The finding is over when
//     index refill has filled the index up to there, when index accept says to do without, or one window
//     after that commit, because then its articles are too old to be originals.
//   - Another process of the group runs with other settings: a commit that names another index has changed
//     while this process watched.
//
// A commit is compared by its offset, not by its time: the commits of idle partitions stay as they are for as
// long as the group lives, and an index that was filled or accepted once is so up to their offsets for ever.
// Where commits of another index end is written into Redis, because the next commits of this process
// overwrite the evidence, and a restart must not end the finding.
//
// Safe for concurrent use.
type Handover struct {
	client redis.UniversalClient
	index  keyspace.ID
	key    string
	group  string
	window time.Duration
}

// NewHandover returns the handover of a group to an index, which has this window.
func NewHandover(client redis.UniversalClient, index keyspace.Keys, group string, window time.Duration) *Handover {
	return &Handover{client: client, index: index.ID, key: index.Handover(group), group: group, window: window}
}

// The fields of the key. Their values are in JSON.
const (
	fieldEnds   = "ends"   // ends
	fieldFilled = "filled" // offsets
)

// offsets are offsets by "topic/partition".
type offsets map[string]int64

// raise takes over the higher offsets, and says whether there was one.
func (o offsets) raise(others offsets) (raised bool) {
	for partition, offset := range others {
		if held, known := o[partition]; !known || offset > held {
			o[partition], raised = offset, true
		}
	}
	return raised
}

// ends say up to where other indexes hold the articles of the group.
type ends struct {
	Label   string  `json:"label"` // of the latest commit
	Offsets offsets `json:"offsets"`
}

// Lack is what the index lacks of the articles of the last window.
type Lack struct {
	Other    keyspace.ID // the index that has them
	Articles uint64      // at most so many stand there
	Until    time.Time   // from then on they are too old to be originals
}

// Lack returns what the index lacks, nil if it lacks nothing. The argument holds the labels of the group's
// commits, by the offsets beside which they stand.
func (h *Handover) Lack(ctx context.Context, committed map[article.Coordinates]string) (*Lack, error) {
	found, filled, err := h.compare(ctx, committed)
	if err != nil || !found.beyond(filled) {
		return nil, err
	}
	label, _ := ParseLabel(found.Label)
	return &Lack{Other: label.Index, Articles: max(1, h.tickets(ctx, label)), Until: label.Seen.Add(h.window)}, nil
}

// compare returns up to where other indexes hold the articles of the group, and up to where this one was filled.
func (h *Handover) compare(ctx context.Context, committed map[article.Coordinates]string) (found ends, filled offsets,
	err error,
) {
	var stored ends
	filled = offsets{}
	if err := errors.Join(h.read(ctx, fieldEnds, &stored), h.read(ctx, fieldFilled, &filled)); err != nil {
		return ends{}, nil, err
	}
	now := time.Now()
	found, changed := merge(stored, h.ends(committed, now), now, h.window)
	if changed && found.beyond(filled) {
		err = h.write(ctx, fieldEnds, found)
	}
	return found, filled, err
}

// beyond says whether other indexes hold articles that this one was not filled with.
func (e ends) beyond(filled offsets) bool {
	for partition, offset := range e.Offsets {
		if offset > filled[partition] {
			return true
		}
	}
	return false
}

// ends returns up to where other indexes hold the articles of the group, as far as its commits of the last
// window say so.
func (h *Handover) ends(committed map[article.Coordinates]string, now time.Time) ends {
	found, latest := ends{Offsets: offsets{}}, time.Time{}
	for at, text := range committed {
		label, ok := ParseLabel(text)
		if !ok || label.Index.Same(h.index) || now.Sub(label.Seen) >= h.window {
			continue
		}
		found.Offsets[partitionOf(at)] = at.Offset
		if label.Seen.After(latest) {
			latest, found.Label = label.Seen, text
		}
	}
	return found
}

// merge joins the ends that are stored with those that were found now, and says whether that changes those
// that are stored. Ends are forgotten when a window has passed.
func merge(stored, found ends, now time.Time, window time.Duration) (merged ends, changed bool) {
	old, ok := ParseLabel(stored.Label)
	if !ok || now.Sub(old.Seen) >= window {
		return found, len(found.Offsets) > 0
	}
	if stored.Offsets == nil {
		stored.Offsets = offsets{}
	}
	changed = stored.Offsets.raise(found.Offsets)
	if latest, ok := ParseLabel(found.Label); ok && latest.Seen.After(old.Seen) {
		stored.Label, changed = found.Label, true
	}
	return stored, changed
}

// Fill remembers that the index lacks nothing below these offsets of a topic, by partition.
func (h *Handover) Fill(ctx context.Context, topic string, below []int64) error {
	more := offsets{}
	for p, offset := range below {
		more[partitionOf(article.Coordinates{Topic: topic, Partition: int32(p)})] = offset
	}
	return h.raise(ctx, more)
}

// raise remembers that the index lacks nothing below these offsets.
func (h *Handover) raise(ctx context.Context, more offsets) error {
	filled := offsets{}
	if err := h.read(ctx, fieldFilled, &filled); err != nil {
		return err
	}
	if filled == nil { // the field holds null
		filled = offsets{}
	}
	filled.raise(more)
	return h.write(ctx, fieldFilled, filled)
}

func partitionOf(at article.Coordinates) string { return fmt.Sprintf("%s/%d", at.Topic, at.Partition) }

func (h *Handover) read(ctx context.Context, field string, into any) error {
	text, err := h.client.HGet(ctx, h.key, field).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return h.explain(err)
	}
	_ = json.Unmarshal([]byte(text), into) // what another program has written counts as nothing
	return nil
}

func (h *Handover) write(ctx context.Context, field string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	pipe := h.client.Pipeline()
	pipe.HSet(ctx, h.key, field, text)
	pipe.Expire(ctx, h.key, 2*h.window+time.Hour) // commits from before the window count for nothing
	_, err = pipe.Exec(ctx)
	return h.explain(err)
}

// explain returns the cause and the remedy of an error of Redis. Joining the group waits for it.
func (h *Handover) explain(err error) error {
	if err = connection.Explain(err, h.client, h.index.Namespace); err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	return nil
}

// ticketScript reads a ticket counter with rights that the service has, and leaves no key where there was none.
var ticketScript = redis.NewScript(`
local held = redis.call('INCRBY', KEYS[1], 0)
if held == 0 then redis.call('EXPIRE', KEYS[1], 0) end
return held`)

// tickets returns the ticket counter of the index that a label names: how many articles were decided there.
// If it cannot be read (another database or namespace), it is the counter at the time of the label.
func (h *Handover) tickets(ctx context.Context, label Label) uint64 {
	if label.Index.Database == h.index.Database {
		if n, err := Tickets(ctx, h.client, label.Index.Name); err == nil && n > 0 {
			return n
		}
	}
	return label.Ticket
}

// Tickets returns the ticket counter of an index in the database of the client: how many articles were
// decided in it; 0 if it does not exist.
func Tickets(ctx context.Context, client redis.UniversalClient, of keyspace.Name) (uint64, error) {
	key := []string{keyspace.Counter(of)}
	n, err := ticketScript.EvalSha(ctx, client, key).Uint64()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = ticketScript.Load(ctx, client).Err(); err == nil {
			n, err = ticketScript.EvalSha(ctx, client, key).Uint64()
		}
	}
	return n, err
}

// Remedy returns what to do if articles stand in another index than that of a process, which may be a shadow.
func Remedy(shadow bool, mine, other keyspace.ID) string {
	if shadow {
		return "start the shadow with another shadow.group: then it begins at the oldest record"
	}
	from := ""
	if other.Recipe != mine.Recipe {
		from = " --from input" // published verdicts of another recipe cannot be kept
	}
	return "go back to the other settings, or fill this index: echosieve index refill" + from +
		"; or do without: echosieve index accept; both with the settings of this process"
}

// Text says in words what is lacking and what follows.
func (l *Lack) Text(mine keyspace.ID) string {
	return fmt.Sprintf("the group's articles are in another index (%s): up to %d articles stand there, and until "+
		"%s their copies pass as unique",
		mine.Compare(l.Other), l.Articles, l.Until.UTC().Format(time.RFC3339))
}

// otherOf returns the index that a label names, if it is another one than mine.
func otherOf(text string, mine keyspace.ID) (other keyspace.ID, is bool) {
	label, ok := ParseLabel(text)
	return label.Index, ok && !label.Index.Same(mine)
}

// byPartition returns the labels by partition, with their offsets.
func byPartition(committed map[article.Coordinates]string) map[string]string {
	found := map[string]string{}
	for at, text := range maps.All(committed) {
		found[partitionOf(at)] = fmt.Sprint(at.Offset, " ", text)
	}
	return found
}

// labelIn is the label in a value of byPartition.
func labelIn(commit string) string {
	_, label, _ := strings.Cut(commit, " ")
	return label
}
