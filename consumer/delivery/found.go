package delivery

import (
	"echosieve/internal/diag"
	"echosieve/pipeline/article"
)

// foreign is what a take-over has found under our producer id that is none of our outputs: whoever may write to an
// output topic can write under any producer id, and another program may have had our transactional id.
type foreign struct {
	count int
	named []string // the first ones, with their places
	// above is the place of a record batch with an epoch above ours, or "".
	above string
}

// mostNamed is the number of foreign records that are named.
const mostNamed = 5

func (f *foreign) add(at article.Coordinates, why string) {
	f.count++
	if len(f.named) < mostNamed {
		f.named = append(f.named, at.String()+": "+why)
	}
}

// noMarker returns errNoMarker, with the cause if it is known. Leaders take any higher epoch, and then refuse markers
// of ours. Our coordinator gives out one epoch after the other, so waiting does not help.
func (f *foreign) noMarker() error {
	if f.above == "" {
		return errNoMarker
	}
	return &diag.Problem{
		Cause: "another program has written with the producer id of this service and an epoch above it, at " + f.above +
			": brokers refuse the marker",
		Remedy: "let no other program write to the output topics, and set kafka.transactional_id_prefix to a new " +
			"value for all processes of the group",
		Err: errNoMarker,
	}
}

// offsetSet is a set of offsets. Its memory grows with the number of offsets, not with their distance.
type offsetSet struct {
	words   map[int64]uint64 // one bit for each of 64 offsets in a row
	highest int64            // of the offsets added; only valid if len is above 0
	len     int
}

func (s *offsetSet) add(offset int64) {
	if s.has(offset) {
		return
	}
	if s.words == nil {
		s.words = map[int64]uint64{}
	}
	s.words[offset/64] |= 1 << (offset % 64)
	if s.len == 0 || offset > s.highest {
		s.highest = offset
	}
	s.len++
}

// has says whether an offset was added. It may be negative.
func (s *offsetSet) has(offset int64) bool {
	return offset >= 0 && s.words[offset/64]>>(offset%64)&1 == 1
}
