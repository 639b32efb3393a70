// Package refill stores articles of Kafka in an index: those of a window after a loss or for a new recipe (Refill),
// and those that another index has decided since this one was filled (Follower, before a process joins its group).
package refill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/app/config"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/watch"
)

// The values of Refill.From.
const (
	FromOutputs = "outputs" // articles keep the verdicts that were published
	FromInput   = "input"   // they get new ones
)

// Refill says with what the index of a configuration is filled, and shows how far that has come.
type Refill struct {
	Config      config.Config
	Recipe      *recipe.Recipe
	Index       *redisindex.Index
	Tools       *admin.Tools
	Learnt      pipeline.Learnt // the rows that the recipe has, if it leaves out what publishers repeat
	From        string          // FromOutputs or FromInput
	Since       time.Duration   // how far back records are read
	Read, Total atomic.Int64    // records
}

// run is the state of one call of Refill.Run.
type run struct {
	*Refill
	began     time.Time
	archive   *tools.Archive
	pipeline  *pipeline.Pipeline
	restorer  *admin.Restorer // nil with FromInput
	committed map[string][]int64
	read      map[article.Coordinates]int64 // up to where partitions were read, by their offset 0
	leftOut   atomic.Bool                   // a record of the window that belongs into the index
	summary   Summary
}

// Summary counts the records that were read, by result.
type Summary struct {
	mu sync.Mutex

	Restored  int64 `json:"restored"`  // stored with their published verdicts
	Decided   int64 `json:"decided"`   // stored with new verdicts (FromInput)
	Held      int64 `json:"held"`      // in the index already
	Differs   int64 `json:"differs"`   // in the index with another verdict than the published one, which stays
	Forgotten int64 `json:"forgotten"` // left forgotten
	// Records that are not stored.
	Uncommitted int64 `json:"uncommitted"`  // the service may still decide them, or their original or root
	OtherRecipe int64 `json:"other_recipe"` // published by another recipe
	// records of output topics that Echosieve has not published, or of another input topic
	NotPublished int64   `json:"not_published"`
	NoText       int64   `json:"no_text"` // null values, and records that the service refuses
	Old          int64   `json:"old"`     // outside of the window
	Seconds      float64 `json:"seconds"`
	Cured        bool    `json:"cured"` // the services no longer warn of the loss
	// Cut are topics whose first record is of the window: records before it may have been deleted.
	Cut []string `json:"cut,omitempty"`
}

// count adds to a counter of the summary.
func (s *Summary) count(counter *int64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter += int64(n)
}

// outcome returns the counter of an outcome.
func (s *Summary) outcome(o admin.Restored) *int64 {
	return [...]*int64{
		admin.RestoredNew: &s.Restored, admin.RestoredHidden: &s.Restored, admin.RestoredHeld: &s.Held,
		admin.RestoredDiffers: &s.Differs, admin.RestoredForgotten: &s.Forgotten,
	}[o]
}

// restTime is how long reading may have taken at last: a service that starts with the recipe stores what was decided
// since then, and nobody gets verdicts meanwhile.
const restTime = 5 * time.Second

// Run fills the index. With FromInput it goes on with what the service has decided meanwhile, until that takes less
// than restTime.
func (of *Refill) Run(ctx context.Context) (_ *Summary, err error) {
	r := &run{Refill: of, began: time.Now(), read: map[article.Coordinates]int64{}}
	kafka := r.Config.Kafka
	if r.archive, err = tools.NewArchive(kafka, kafka.Topics.All()...); err != nil {
		return nil, err
	}
	defer r.archive.Close()
	r.pipeline = pipeline.New(pipeline.Config{
		Decode: r.Config.Input.Config, RecordConfig: r.Config.Input.Records, MaxMessageBytes: kafka.MaxMessageBytes,
		Window: r.Config.Window, Learnt: r.Learnt,
	}, r.Recipe, r.Index, nil)
	losses, err := r.Tools.Losses(ctx)
	if err == nil && r.From == FromOutputs {
		r.restorer, err = r.Tools.StartRestore(ctx, r.began)
	}
	for again := true; err == nil && again; {
		began := time.Now()
		var parts []watch.Gap
		if parts, err = r.plan(ctx); err == nil {
			err = read(ctx, r.archive, parts, r.work)
		}
		again = r.From == FromInput && time.Since(began) > restTime
	}
	if err != nil {
		return nil, err
	}
	if now, err := r.Tools.Losses(ctx); err != nil || now != losses {
		return nil, errors.Join(err,
			errors.New("during the refill Redis has lost data again: end the cause, and type the command again"))
	}
	r.summary.Seconds = time.Since(r.began).Seconds()
	if r.Since < r.Config.Window || r.leftOut.Load() || len(r.summary.Cut) > 0 {
		return &r.summary, nil
	}
	if r.summary.Cured, err = r.Tools.Cure(ctx, losses); err == nil {
		err = r.declareFilled(ctx)
	}
	return &r.summary, err
}

// plan finds out what is to be read. Unique articles come first: with them in the index, most later copies are caught
// again.
func (r *run) plan(ctx context.Context) (parts []watch.Gap, err error) {
	kafka := r.Config.Kafka
	if r.committed, err = r.archive.AllCommitted(ctx, kafka.Group); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(kafka.Topics.Inputs, func(topic string) bool { return r.committed[topic] != nil }) {
		return nil, fmt.Errorf("the group %s has committed nothing in %s: name the group of the service with --kafka.group",
			kafka.Group, strings.Join(kafka.Topics.Inputs, ", "))
	}
	names := kafka.Topics.Inputs
	if r.From == FromOutputs {
		copies := slices.DeleteFunc([]string{kafka.Topics.Possible, kafka.Topics.Duplicate},
			func(topic string) bool { return topic == "" || topic == kafka.Topics.Unique })
		names = append([]string{kafka.Topics.Unique}, copies...)
	}
	for _, topic := range names {
		n, err := r.archive.Partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for i := range int32(n) {
			part, err := r.partOf(ctx, article.Coordinates{Topic: topic, Partition: i})
			if err != nil {
				return nil, err
			}
			if part.From.Offset < part.To {
				parts = append(parts, part)
				r.Total.Add(part.To - part.From.Offset)
			}
		}
	}
	return parts, nil
}

// partOf returns what is to be read of a partition.
func (r *run) partOf(ctx context.Context, partition article.Coordinates) (part watch.Gap, err error) {
	topic := partition.Topic
	oldest, err := r.archive.OffsetAt(ctx, topic, partition.Partition, r.began.Add(-r.Since))
	if err != nil {
		return part, err
	}
	held, err := r.archive.Offsets(ctx, topic, partition.Partition)
	if err != nil {
		return part, err
	}
	part.From, part.To = partition, held.Next
	if r.From == FromInput {
		part.To = r.committedIn(partition)
	}
	// Brokers delete from the start. If the first record that is left is of the window, some before it may have been,
	// too.
	if r.Since >= r.Config.Window && oldest == held.First && held.First > 0 && !slices.Contains(r.summary.Cut, topic) {
		r.summary.Cut = append(r.summary.Cut, topic)
	}
	if oldest < 0 {
		oldest = part.To // all records are older
	}
	part.From.Offset = max(oldest, r.read[partition])
	r.read[partition] = part.To
	return part, nil
}

// committedIn is the offset that was committed in a partition; 0 if there is none, as in a partition that was added
// since.
func (r *run) committedIn(at article.Coordinates) int64 {
	if committed := r.committed[at.Topic]; int(at.Partition) < len(committed) {
		return committed[at.Partition]
	}
	return 0
}

// work stores the articles of records.
func (r *run) work(ctx context.Context, records []record.Record) error {
	defer r.Read.Add(int64(len(records)))
	recent := slices.DeleteFunc(slices.Clone(records), func(rec record.Record) bool {
		return rec.Time.Before(r.began.Add(-r.Since))
	})
	r.summary.count(&r.summary.Old, len(records)-len(recent))
	if r.From == FromOutputs {
		return r.restore(ctx, recent)
	}
	stored, forgotten, err := decide(ctx, r.pipeline, r.Tools, recent)
	if err == nil {
		r.summary.count(&r.summary.Decided, stored)
		r.summary.count(&r.summary.Forgotten, forgotten)
		r.summary.count(&r.summary.NoText, len(recent)-stored-forgotten)
	}
	return err
}

// declareFilled declares that the index has what the group had committed when the refill read, unless another recipe
// has published a part of it.
func (r *run) declareFilled(ctx context.Context) error {
	kafka := r.Config.Kafka
	h := watch.NewHandover(r.Index.Client(), r.Index.Keys(), kafka.Group, r.Config.Window)
	if r.From == FromOutputs {
		labels, err := r.archive.Labels(ctx, kafka.Group, kafka.Topics.Inputs...)
		if err != nil {
			return err
		}
		lack, err := h.Lack(ctx, labels)
		if err != nil || lack != nil && lack.Other.Recipe != r.Recipe.ID() {
			return err
		}
	}
	var below []article.Coordinates
	for _, topic := range kafka.Topics.Inputs {
		for p, offset := range r.committed[topic] {
			below = append(below, article.Coordinates{Topic: topic, Partition: int32(p), Offset: offset})
		}
	}
	return h.Fill(ctx, below...)
}
