package watch

import (
	"context"
	"fmt"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
)

// Gap is a part of an input partition that was decided in another index, and that this one was not filled with.
type Gap struct {
	From article.Coordinates
	To   int64 // the offset after its last record
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
	switch {
	case latest.Index.Layout == "":
		return false, ""
	case latest.Index.Same(h.index):
		return true, ""
	}
	return false, h.index.Compare(latest.Index)
}

// Gaps returns what this index lacks since it was filled. It returns nothing if it never was: then nobody knows where
// the articles that it lacks begin.
func (h *Handover) Gaps(ctx context.Context, committed map[article.Coordinates]string) (gaps []Gap, err error) {
	found, filled, err := h.compare(ctx, committed)
	if err != nil || len(filled) == 0 {
		return nil, err
	}
	for at := range committed {
		p := partitionOf(at)
		if end := found.Offsets[p]; end > filled[p] {
			at.Offset = filled[p]
			gaps = append(gaps, Gap{From: at, To: end})
		}
	}
	return gaps, nil
}

// Filled remembers that the index lacks nothing of the partition before this record.
func (h *Handover) Filled(ctx context.Context, before article.Coordinates) error {
	return h.raise(ctx, offsets{partitionOf(before): before.Offset})
}

// HandOver remembers for the indexes that have decided before this one up to where they hold everything. So a
// process that goes back to one of them knows its gap. It is for the time when they no longer decide.
func (h *Handover) HandOver(ctx context.Context, committed map[article.Coordinates]string) error {
	ends := map[keyspace.Name]offsets{}
	for at, text := range committed {
		of, is := otherOf(text, h.index)
		if !is || of.Database != h.index.Database || of.Namespace != h.index.Namespace {
			continue // this process cannot, or may not, write there
		}
		if ends[of.Name] == nil {
			ends[of.Name] = offsets{}
		}
		ends[of.Name][partitionOf(at)] = at.Offset
	}
	for name, offsets := range ends {
		other := NewHandover(h.client, keyspace.Keys{ID: keyspace.ID{Name: name}, Prefix: name.Prefix()}, h.group, h.window)
		lack, err := other.Lack(ctx, nil)
		if err == nil && lack == nil { // else it has a gap of its own
			err = other.raise(ctx, offsets)
		}
		if err != nil {
			return fmt.Errorf("hand over: %w", err)
		}
	}
	return nil
}
