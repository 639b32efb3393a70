package refill

import (
	"sync"

	"echosieve/redisindex/admin"
)

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
	switch o {
	case admin.RestoredHeld:
		return &s.Held
	case admin.RestoredDiffers:
		return &s.Differs
	case admin.RestoredForgotten:
		return &s.Forgotten
	default:
		return &s.Restored
	}
}
