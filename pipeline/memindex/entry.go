package memindex

import (
	"encoding/binary"
	"math"

	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
	"echosieve/simhash"
)

// record is a packed entry:
//
//	fingerprint u64, digest 16 bytes, form u8, ticket, number of the topic, partition, offset, time, packed id,
//	signature, verdict
//
// Numbers without a size are varints, and before id and signature stands their length. The time counts from
// the start of the slice, in milliseconds.
type record []byte

const (
	digestAt = 8
	formAt   = 24
	restAt   = 25

	formLittle   = 1 << 0 // the article has little text
	formHidden   = 1 << 1 // the original of nothing: its article could not be published
	formOverflow = 1 << 2 // the original of exact repeats only: see lookup.MaxEntries
)

func (r record) fingerprint() simhash.Fingerprint {
	return simhash.Fingerprint(binary.LittleEndian.Uint64(r))
}
func (r record) digest() article.Digest { return article.Digest(r[digestAt:formAt]) }
func (r record) has(form byte) bool     { return r[formAt]&form != 0 }

// entry is a record that is being made or read. Coordinates, Fingerprint, Digest, LittleText and Signature
// are those of the article; a read entry shares the memory of its record.
type entry struct {
	article.Article
	ticket           uint64
	ms               int64 // from the start of the slice
	hidden, overflow bool
	record           record
	id, verdict      []byte
}

// append packs the entry. topic is the number of its topic.
func (e *entry) append(dst []byte, topic uint64, v article.Verdict) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.Fingerprint))
	dst = append(dst, e.Digest[:]...)
	form := byte(0)
	if e.LittleText {
		form |= formLittle
	}
	if e.overflow {
		form |= formOverflow
	}
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, e.ticket)
	dst = binary.AppendUvarint(dst, topic)
	dst = binary.AppendVarint(dst, int64(e.Partition))
	dst = binary.AppendVarint(dst, e.Offset)
	dst = binary.AppendUvarint(dst, uint64(e.ms))
	id := packed.AppendID(make([]byte, 0, 64), e.Ref())
	dst = append(binary.AppendUvarint(dst, uint64(len(id))), id...)
	dst = append(binary.AppendUvarint(dst, uint64(len(e.Signature))), e.Signature...)
	return packed.AppendVerdict(dst, v, e.Ref())
}

// hide makes the entry the original of nothing.
func (e *entry) hide() { e.record[formAt] |= formHidden }

// decodeID sets the id. Few of the entries that are read need it.
func (e *entry) decodeID() { e.ID, _ = packed.UnpackID(string(e.id), e.Coordinates) }

// decodeVerdict returns the verdict.
func (e *entry) decodeVerdict() article.Verdict {
	e.decodeID()
	v, _ := packed.DecodeVerdict(e.verdict, e.Ref())
	return v
}

// topics numbers the topics of entries.
type topics struct {
	names   []string
	numbers map[string]uint64
}

// number returns the number of a topic, which it gives to one that is not known.
func (t *topics) number(name string) (n uint64, known bool) {
	if n, known = t.numbers[name]; !known {
		n = uint64(len(t.names))
		t.names, t.numbers[name] = append(t.names, name), n
	}
	return n, known
}

// valid says whether a record that a file holds is one that append packs: all that reads it trusts it. Its ticket must
// not be before arrivals.
func (t *topics) valid(r record, sliceMs int64, arrivals uint64) bool {
	if len(r) <= restAt || len(r) > math.MaxUint16 || r[formAt] > formLittle|formHidden|formOverflow {
		return false
	}
	e, whole := t.decode(r)
	if !whole || e.ticket < arrivals || e.ticket > math.MaxInt64 || e.ms < 0 || e.ms >= sliceMs {
		return false
	}
	id, known := packed.UnpackID(string(e.id), e.Coordinates)
	e.ID = id
	_, whole = packed.DecodeVerdict(e.verdict, e.Ref())
	return known && whole
}

// decode reads a record; ok says whether it is whole.
func (t *topics) decode(r record) (e entry, ok bool) {
	e.record, e.Fingerprint, e.Digest = r, r.fingerprint(), r.digest()
	e.LittleText, e.hidden, e.overflow = r.has(formLittle), r.has(formHidden), r.has(formOverflow)
	d := packed.Decoder{Data: r[restAt:]}
	e.ticket = d.Uvarint()
	topic, partition := d.Uvarint(), d.Varint()
	e.Offset, e.ms, e.id = d.Varint(), int64(d.Uvarint()), d.Bytes()
	if signature := d.Bytes(); len(signature) > 0 { // which package evidence checks
		e.Signature = signature
	}
	e.Partition, e.verdict = int32(partition), d.Data
	if d.Bad || topic >= uint64(len(t.names)) || partition != int64(e.Partition) {
		return e, false
	}
	e.Topic = t.names[topic]
	return e, true
}
