package memindex

import (
	"encoding/binary"
	"iter"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// slice holds the articles of one piece of time. Slices are numbered from 1970.
//
// Entries lie one behind another in chunks. A ref is the place of an entry: number of the chunk, and offset
// in it; 0 is none. In front of its record an entry has
//
//	next u32, size of the record u16
//
// next is the ref of the entry before it in the same map with the same key.
type slice struct {
	number     int64
	lastTicket uint64
	count      int   // of entries
	bytes      int64 // of entries
	chunks     [][]byte
	latest     map[simhash.Fingerprint]uint32 // refs of the latest entries, but for overflow entries
	overflown  map[exactly]uint32             // those of overflow entries
	lists      map[uint64][]simhash.Fingerprint
}

// exactly is what articles with the same words have.
type exactly struct {
	simhash.Fingerprint
	article.Digest
}

const (
	chunkBytes = 1 << 16
	unit       = 4 // entries begin at a multiple of it, in bytes
	offsetBits = 14
	headBytes  = 6
	// growth is the least number of fingerprints by which a list grows.
	growth = 4
)

func newSlice(n int64) *slice {
	return &slice{number: n, chunks: [][]byte{make([]byte, unit)}, latest: map[simhash.Fingerprint]uint32{},
		overflown: map[exactly]uint32{}, lists: map[uint64][]simhash.Fingerprint{}}
}

func (s *slice) at(ref uint32) []byte { return s.chunks[ref>>offsetBits][ref&(1<<offsetBits-1)*unit:] }

// recordAt returns the record of an entry. Writing to it changes the entry.
func (s *slice) recordAt(ref uint32) record {
	e := s.at(ref)
	return record(e[headBytes : headBytes+int(binary.LittleEndian.Uint16(e[4:]))])
}

// key is that of a block list. A value has at most 33 bits.
func key(b simhash.Block) uint64 { return uint64(b.Index)<<34 | b.Value }

// list adds a fingerprint to a block list. If it may be in the list, the list is searched first.
func (s *slice) list(b simhash.Block, fp simhash.Fingerprint, known bool) {
	k := key(b)
	list := s.lists[k]
	switch {
	case known && slices.Contains(list, fp):
		return
	case len(list) == lookup.MaxMembers:
		copy(list, list[1:])
		list[len(list)-1] = fp
		return
	case len(list) == cap(list): // append would double it
		list = append(make([]simhash.Fingerprint, 0, len(list)+max(growth, len(list)/8)), list...)
	}
	s.lists[k] = append(list, fp)
}

// entries iterates over the records from a ref on, the latest first.
func (s *slice) entries(ref uint32) iter.Seq[record] {
	return func(yield func(record) bool) {
		for ; ref != 0; ref = binary.LittleEndian.Uint32(s.at(ref)) {
			if !yield(s.recordAt(ref)) {
				return
			}
		}
	}
}

// store adds a record.
func (s *slice) store(r record) {
	s.count++
	if key := (exactly{r.fingerprint(), r.digest()}); r.has(formOverflow) {
		s.overflown[key] = s.append(r, s.overflown[key])
	} else {
		s.latest[key.Fingerprint] = s.append(r, s.latest[key.Fingerprint])
	}
}

// append writes an entry behind the others and returns its ref.
func (s *slice) append(r record, next uint32) (ref uint32) {
	size := (headBytes + len(r) + unit - 1) / unit * unit
	last := len(s.chunks) - 1
	if len(s.chunks[last])+size > chunkBytes {
		s.chunks = append(s.chunks, make([]byte, 0, max(chunkBytes, size)))
		last++
	}
	c := s.chunks[last]
	ref = uint32(last)<<offsetBits | uint32(len(c)/unit)
	c = binary.LittleEndian.AppendUint32(c, next)
	c = binary.LittleEndian.AppendUint16(c, uint16(len(r)))
	c = append(c, r...)
	s.chunks[last] = append(c, make([]byte, size-headBytes-len(r))...)
	return ref
}
