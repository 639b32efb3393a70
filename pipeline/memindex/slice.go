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
// next is the ref of the entry before it with the same fingerprint. table holds, by hash, the ref of the
// latest entry of each fingerprint, and of each overflow entry.
type slice struct {
	number     int64
	lastTicket uint64
	count      int   // of entries
	bytes      int64 // of entries
	chunks     [][]byte
	table      []uint32 // its length is a power of two, and at most three quarters are used
	used       int      // of table
	lists      map[uint64][]simhash.Fingerprint
}

const (
	chunkBytes = 1 << 16
	unit       = 4 // entries begin at a multiple of it, in bytes
	offsetBits = 14
	headBytes  = 6
	minTable   = 16
	// growth is the least number of fingerprints by which a list grows.
	growth = 4
)

func newSlice(n int64) *slice {
	return &slice{number: n, chunks: [][]byte{make([]byte, unit)}, table: make([]uint32, minTable),
		lists: map[uint64][]simhash.Fingerprint{}}
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

// spread makes a hash of a fingerprint, whose bits are not random.
func spread(fp simhash.Fingerprint) uint64 { return uint64(fp) * 0x9E3779B97F4A7C15 }

func overflowHash(fp simhash.Fingerprint, d *article.Digest) uint64 {
	return spread(fp) + binary.LittleEndian.Uint64(d[:])
}

// probe iterates over the places of the table where an entry with the hash may be, up to the first empty one.
func (s *slice) probe(hash uint64) iter.Seq[*uint32] {
	return func(yield func(*uint32) bool) {
		mask := uint64(len(s.table) - 1)
		for i := hash >> 32; ; i++ {
			if p := &s.table[i&mask]; !yield(p) || *p == 0 {
				return
			}
		}
	}
}

// head returns the ref of the latest entry with a fingerprint, 0 if there is none.
func (s *slice) head(fp simhash.Fingerprint) uint32 {
	for p := range s.probe(spread(fp)) {
		if r := *p; r == 0 || s.recordAt(r).fingerprint() == fp && !s.recordAt(r).has(formOverflow) {
			return r
		}
	}
	return 0
}

// entries iterates over the records of a fingerprint that are no overflow entries, the latest first.
func (s *slice) entries(fp simhash.Fingerprint) iter.Seq[record] {
	return func(yield func(record) bool) {
		for ref := s.head(fp); ref != 0; ref = binary.LittleEndian.Uint32(s.at(ref)) {
			if !yield(s.recordAt(ref)) {
				return
			}
		}
	}
}

// overflow iterates over the overflow entries with a digest.
func (s *slice) overflow(fp simhash.Fingerprint, d article.Digest) iter.Seq[record] {
	return func(yield func(record) bool) {
		for p := range s.probe(overflowHash(fp, &d)) {
			if *p == 0 {
				return
			}
			if r := s.recordAt(*p); r.has(formOverflow) && r.digest() == d && !yield(r) {
				return
			}
		}
	}
}

// store adds a record.
func (s *slice) store(r record) {
	if s.used++; 4*s.used > 3*len(s.table) {
		s.grow()
	}
	fp := r.fingerprint()
	var hash uint64
	var place *uint32
	if r.has(formOverflow) {
		d := r.digest()
		hash = overflowHash(fp, &d)
	} else {
		hash = spread(fp)
	}
	for place = range s.probe(hash) {
		if *place != 0 && !r.has(formOverflow) && s.recordAt(*place).fingerprint() == fp &&
			!s.recordAt(*place).has(formOverflow) {
			s.used-- // the place of the fingerprint
			break
		}
	}
	*place = s.append(r, *place)
	s.count++
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

// grow doubles the table.
func (s *slice) grow() {
	old := s.table
	s.table = make([]uint32, 2*len(old))
	for _, ref := range old {
		if ref == 0 {
			continue
		}
		r := s.recordAt(ref)
		hash := spread(r.fingerprint())
		if r.has(formOverflow) {
			d := r.digest()
			hash = overflowHash(r.fingerprint(), &d)
		}
		for p := range s.probe(hash) {
			if *p == 0 {
				*p = ref
				break
			}
		}
	}
}
