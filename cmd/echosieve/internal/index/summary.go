package index

import (
	"io"
	"strings"
	"sync"

	"echosieve/app/command"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/redisindex/admin"
)

// summary counts the records that this process has read, by result.
type summary struct {
	mu sync.Mutex

	Restored  int64 `json:"restored"`  // stored with their published verdicts
	Decided   int64 `json:"decided"`   // stored with new verdicts (--from input)
	Held      int64 `json:"held"`      // in the index already
	Differs   int64 `json:"differs"`   // in the index with another verdict than the published one, which stays
	Forgotten int64 `json:"forgotten"` // left forgotten: only replays find them
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

// count adds one to a counter of the summary.
func (s *summary) count(counter *int64) {
	s.mu.Lock()
	*counter++
	s.mu.Unlock()
}

// outcome returns the counter of an outcome.
func (s *summary) outcome(o admin.Restored) *int64 {
	switch o {
	case admin.RestoredHeld:
		return &s.Held
	case admin.RestoredDiffers:
		return &s.Differs
	default:
		return &s.Restored
	}
}

func (s *summary) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return command.PrintJSON(w, s)
	}
	out := &printer{w: w}
	out.line("%s restored, %d decided, %d were there, in %.1f s", visible.Count(int(s.Restored), "article"), s.Decided, s.Held, s.Seconds)
	out.line("left out:  %d the service may still decide, %d of another recipe, %d without text, %d older than "+
		"the window, %d not published by this service",
		s.Uncommitted, s.OtherRecipe, s.NoText, s.Old, s.NotPublished)
	out.line("%d have another verdict in the index, which stays", s.Differs)
	if s.Forgotten > 0 {
		out.line("%d stay forgotten (index forget)", s.Forgotten)
	}
	if s.Cured {
		out.line("if articles were forgotten before the loss (index forget) and this refill names none, forget " +
			"them again")
		out.line("the services no longer warn of the loss")
	}
	if len(s.Cut) > 0 {
		out.line("records of the window may be missing, because Kafka has deleted the beginning of %s; the "+
			"warning of the loss stays", strings.Join(s.Cut, ", "))
	}
	return out.err
}

// committedIn is the offset that was committed in a partition; 0 if there is none, as in a partition that was
// added since.
func committedIn(committed map[string][]int64, topic string, partition int32) int64 {
	if int(partition) < len(committed[topic]) {
		return committed[topic][partition]
	}
	return 0
}

// answer is the error of a refill that has left out articles that could have been there.
func (s *summary) answer() error {
	if s.OtherRecipe > 0 {
		return &command.AnswerError{Text: visible.Count(s.OtherRecipe, "article") +
			" of another recipe left out; --from input gives new verdicts"}
	}
	return nil
}

// below says whether the record at these coordinates is below the offsets that were committed in its topic.
func below(c article.Coordinates, committed map[string][]int64) bool {
	return c.Offset < committedIn(committed, c.Topic, c.Partition)
}
