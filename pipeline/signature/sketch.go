package signature

import (
	"slices"

	"echosieve/simhash"
)

// A fact is a number with its context: 32 bits of hashed context, 16 bits of place among the numbers of the text, 16
// bits of hashed value. Sorted, facts of one context lie together in the order of the text.

func newFact(context uint64, place int, value uint64) uint64 {
	return simhash.Mix(context)&^0xffffffff | uint64(place)<<16 | value>>16&0xffff
}

// sketch samples the facts into slots, for each slot the one with the least hash of its context, so that similar
// texts sample the same contexts. It sorts and changes the list.
//
// Contexts with one value come first. Where the same words introduce several values ("from 3 to 5, from 7 to 9"),
// the context says the more the earlier it occurs; such facts, told apart by their rank, only fill slots left empty.
func sketch(raw *[Size]byte, facts []uint64) {
	slices.Sort(facts)
	ambiguous := facts[:0]
	for i := 0; i < len(facts); {
		end, same := i+1, true
		for end < len(facts) && facts[end]>>32 == facts[i]>>32 {
			same = same && uint16(facts[end]) == uint16(facts[i])
			end++
		}
		if same {
			put(raw, facts[i])
			i = end
			continue
		}
		context := facts[i] >> 32
		for rank := uint64(1); i < end; i++ {
			ambiguous = append(ambiguous, simhash.Mix(context+rank<<32)&^0xffffffff|facts[i]&0xffff)
			rank++
		}
	}
	slices.Sort(ambiguous)
	for _, f := range ambiguous {
		put(raw, f)
	}
}

func put(raw *[Size]byte, fact uint64) {
	slot := int((fact >> 32) % numberSlots)
	if raw[contextAt+slot] != 0 {
		return
	}
	raw[contextAt+slot] = byte(1 + (fact>>36&0xffff)%255)
	raw[valueAt+slot/2] |= byte(fact&15) << (slot % 2 * 4)
}
