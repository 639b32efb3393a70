package watch

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Handover notices that a consumer group has worked on another index than this process: its articles stand
// there, so their copies pass here as unique.
//
// Each commit of the group names the index in which the records below the offset were decided (Label). This
// index lacks articles if a partition's commit names another index, and nobody has filled this one up to that
// offset. The lack is over when index refill has filled the index up to there, when index accept says to do
// without, or one window after that commit, because then its articles are too old to be originals. Processes
// on two indexes are never in the group at once: package consumer sees to that.
//
// A commit is compared by its offset, not by its time: the commits of idle partitions stay as they are for as
// long as the group lives, and an index that was filled or accepted once is so up to their offsets for ever.
// Where commits of another index end is written into Redis, because the next commits of this process
// overwrite the evidence, and a restart must not end the lack.
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

func partitionOf(at article.Coordinates) string { return fmt.Sprintf("%s/%d", at.Topic, at.Partition) }

// ends say up to where other indexes hold the articles of the group.
type ends struct {
	Label   string  `json:"label"` // of the latest commit
	Offsets offsets `json:"offsets"`
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

// Lack is what the index lacks of the articles of the last window.
type Lack struct {
	Other    keyspace.ID // the index that has them
	Articles uint64      // at most so many stood there at the latest commit
	Until    time.Time   // from then on they are too old to be originals
	// Gaps are what it lacks since it was filled. There are none if it never was: then nobody knows where the articles
	// that it lacks begin.
	Gaps []Gap
}

// Gap is a part of an input partition that was decided in another index, and that this one was not filled with.
type Gap struct {
	From article.Coordinates
	To   int64 // the offset after its last record
}

// Lack returns what the index lacks, nil if it lacks nothing. The argument holds the labels of the group's
// commits, by the offsets beside which they stand. What other indexes hold is forgotten a window after the latest commit
// there.
func (h *Handover) Lack(ctx context.Context, committed map[article.Coordinates]string) (*Lack, error) {
	var found ends
	var filled offsets
	err := h.read(ctx, fieldEnds, &found)
	if err == nil {
		err = h.read(ctx, fieldFilled, &filled)
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	latest, ok := ParseLabel(found.Label)
	if !ok || now.Sub(latest.Seen) >= h.window || found.Offsets == nil {
		latest, found = Label{}, ends{Offsets: offsets{}}
	}
	changed := false
	for at, text := range committed {
		label, ok := ParseLabel(text)
		if !ok || label.Index.Same(h.index) || now.Sub(label.Seen) >= h.window {
			continue
		}
		p := partitionOf(at)
		if held, known := found.Offsets[p]; !known || held < at.Offset {
			found.Offsets[p], changed = at.Offset, true
		}
		if label.Seen.After(latest.Seen) {
			latest, found.Label, changed = label, text, true
		}
	}
	if !found.beyond(filled) {
		return nil, nil
	}
	lack := &Lack{Other: latest.Index, Articles: max(1, latest.Ticket), Until: latest.Seen.Add(h.window)}
	for at := range committed {
		p := partitionOf(at)
		if end := found.Offsets[p]; len(filled) > 0 && end > filled[p] {
			at.Offset = filled[p]
			lack.Gaps = append(lack.Gaps, Gap{From: at, To: end})
		}
	}
	if changed {
		err = h.writeEnds(ctx, found)
	}
	return lack, err
}

//go:embed lua/fill.lua
var fillSource string

var fillScript = redis.NewScript(fillSource)

// Fill remembers that the index lacks nothing below these offsets of partitions. Several processes may fill at once.
func (h *Handover) Fill(ctx context.Context, below ...article.Coordinates) error {
	args := []any{fieldFilled, h.expirySeconds()}
	for _, at := range below {
		args = append(args, partitionOf(at), at.Offset)
	}
	err := fillScript.EvalSha(ctx, h.client, []string{h.key}, args...).Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = fillScript.Load(ctx, h.client).Err(); err == nil {
			err = fillScript.EvalSha(ctx, h.client, []string{h.key}, args...).Err()
		}
	}
	return h.explain(err)
}

// Decider says whether the latest label names this index, and else in words how this index differs from the one that
// it names; "": no label names one. Of old commits nobody decides any more, but for the same answer in all processes
// they count.
func (h *Handover) Decider(committed map[article.Coordinates]string) (mine bool, differs string) {
	var latest Label
	for _, text := range committed {
		if label, ok := ParseLabel(text); ok && label.Seen.After(latest.Seen) {
			latest = label
		}
	}
	if latest.Index.Layout == "" {
		return false, ""
	}
	return latest.Index.Same(h.index), h.index.Compare(latest.Index)
}

// HandOver remembers for the indexes that have decided before this one up to where they hold everything. So a
// process that goes back to one of them knows its gap. It is for the time when they no longer decide.
func (h *Handover) HandOver(ctx context.Context, committed map[article.Coordinates]string) error {
	ends := map[keyspace.Name][]article.Coordinates{}
	for at, text := range committed {
		label, ok := ParseLabel(text)
		of := label.Index
		// Into another database or namespace this process cannot, or may not, write.
		if ok && !of.Same(h.index) && of.Database == h.index.Database && of.Namespace == h.index.Namespace {
			ends[of.Name] = append(ends[of.Name], at)
		}
	}
	for name, below := range ends {
		keys := keyspace.Keys{ID: keyspace.ID{Name: name}, Prefix: name.Prefix()}
		other := NewHandover(h.client, keys, h.group, h.window)
		lack, err := other.Lack(ctx, nil)
		if err == nil && lack == nil { // else it has a gap of its own
			err = other.Fill(ctx, below...)
		}
		if err != nil {
			return fmt.Errorf("hand over: %w", err)
		}
	}
	return nil
}

func (h *Handover) read(ctx context.Context, field string, into any) error {
	text, err := h.client.HGet(ctx, h.key, field).Bytes()
	switch {
	case err == nil:
		_ = json.Unmarshal(text, into) // what another program has written counts as nothing
	case !errors.Is(err, redis.Nil):
		return h.explain(err)
	}
	return nil
}

func (h *Handover) writeEnds(ctx context.Context, found ends) error {
	text, _ := json.Marshal(found) // of texts and numbers it never fails
	pipe := h.client.Pipeline()
	pipe.HSet(ctx, h.key, fieldEnds, text)
	pipe.Expire(ctx, h.key, time.Duration(h.expirySeconds())*time.Second)
	_, err := pipe.Exec(ctx)
	return h.explain(err)
}

// expirySeconds is how long the key lives: commits from before the window count for nothing.
func (h *Handover) expirySeconds() int64 { return int64((2*h.window + time.Hour) / time.Second) }

// explain returns the cause and the remedy of an error of Redis. Joining the group waits for it.
func (h *Handover) explain(err error) error {
	if err = connection.Explain(err, h.client, h.index.Namespace); err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	return nil
}

// Remedy returns what to do if articles stand in another index than that of a process, which may be a shadow.
func Remedy(shadow bool, mine, other keyspace.ID) string {
	if shadow {
		return "delete the group of the shadow: then it begins at the oldest record"
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
