package page

import (
	"hash/maphash"
	"math/bits"
)

// A line that a text has three times or more, word for word, counts once: an advertisement between all
// paragraphs, or the name of the photographer below each picture, would outweigh the article.

// lineSet holds the different lines of a text. Its seed differs from process to process: with a known one, a
// text could be made of lines that all belong into one slot.
type lineSet struct {
	// open addressing: index into the lines of the text plus 1, 0 = free; a power of two long, at most half full
	slots []int32
}

var lineSeed = maphash.MakeSeed()

// markRepeats marks all lines but the first of three or more that are equal as repeats, and leaves them out.
// It tells whether there are any.
func (s *bodyScratch) markRepeats(clean string) (found bool) {
	size := 1 << bits.Len(uint(2*len(s.lines)))
	if cap(s.known.slots) < size {
		s.known.slots = make([]int32, size)
	}
	slots := s.known.slots[:size]
	clear(slots)
	for i := range s.lines {
		l := &s.lines[i]
		text := clean[l.start:l.end]
		at := maphash.String(lineSeed, text) & uint64(size-1)
		for ; slots[at] != 0; at = (at + 1) & uint64(size-1) {
			first := &s.lines[slots[at]-1]
			if clean[first.start:first.end] != text {
				continue
			}
			if first.second == 0 {
				first.second = i
				break
			}
			s.lines[first.second].leaveOut()
			l.leaveOut()
			found = true
			break
		}
		if slots[at] == 0 {
			slots[at] = int32(i + 1)
		}
	}
	return found
}

// leaveOut leaves a line out. It does not end a run of furniture.
func (l *textLine) leaveOut() { l.kind, l.keep, l.gone = weakLine, false, true }
