package redisindex

import (
	"encoding/binary"
	"errors"

	"echosieve/pipeline/article"
)

// Layout of an entry. The scripts know the first four fields; find.lua describes them.
const (
	ticketAt   = 4
	digestAt   = 10
	headAt     = 26
	version    = 2      // another version must have keys of its own: an entry of an unknown version is treated as damaged
	flagLittle = 1 << 7 // set on an entry of little text
)

// maxEntries is the number of entries that the field of one fingerprint holds. Those beyond lie in fields of
// their own: found again by their own digest, but no longer offered as originals. What those see counts as earlier,
// whoever drew first (ticket.lua).
const maxEntries = 8

var errCorrupt = errors.New("bytes in Redis are no entry")

// entry is what Redis keeps of an article.
type entry struct {
	ticket uint64 // 0: none yet
	digest article.Digest
	little bool
	ref    article.Ref
	ms     int64
	// signature of the second check, opaque to this package
	signature []byte
	verdict   []byte // nil: undecided
}

func (e *entry) identity() identity { return identity{e.ref.Coordinates, e.digest} }

// appendEntry appends the entry of a new article: no ticket, no verdict.
func appendEntry(dst []byte, c *article.Article, ms int64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, digestAt)...)
	dst = append(dst, c.Digest[:]...)
	form := byte(version)
	if c.LittleText {
		form |= flagLittle
	}
	dst = append(dst, form)
	dst = appendRef(dst, article.Ref{ID: c.ID, Coordinates: c.Coordinates})
	dst = binary.AppendVarint(dst, ms)
	dst = append(dst, c.Signature...) // the rest of the head
	length := uint16(len(dst) - start)
	binary.BigEndian.PutUint16(dst[start:], length)
	binary.BigEndian.PutUint16(dst[start+2:], length)
	return dst
}

// cutEntry decodes the first entry of a field's value and returns what follows it.
func cutEntry(data string) (e entry, rest string, err error) {
	if len(data) < headAt+1 {
		return entry{}, "", errCorrupt
	}
	raw := []byte(data)
	length, head := int(binary.BigEndian.Uint16(raw)), int(binary.BigEndian.Uint16(raw[2:]))
	if length > len(raw) || head > length || head <= headAt || raw[headAt]&^flagLittle != version {
		return entry{}, "", errCorrupt
	}
	e.ticket = ticketNumber(data[ticketAt:digestAt])
	e.digest = article.Digest(raw[digestAt:headAt])
	e.little = raw[headAt]&flagLittle != 0
	d := decoder{data: raw[headAt+1 : head]}
	e.ref = d.ref()
	e.ms = d.varint()
	if len(d.data) > 0 {
		e.signature = d.data
	}
	if d.bad {
		return entry{}, "", errCorrupt
	}
	if length > head {
		e.verdict = raw[head:length]
	}
	return e, data[length:], nil
}

// maxTicket is the ticket of an entry in a field of its own (ticket.lua). The counter must stay below it.
const maxTicket = 1<<48 - 1

// ticketBytes is a ticket as the scripts want it. 48 bits last for 200,000 articles a second during 44 years.
func ticketBytes(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n)[2:])
}

func ticketNumber(s string) uint64 {
	var buf [8]byte
	copy(buf[2:], s)
	return binary.BigEndian.Uint64(buf[:])
}

// Verdict layout: kind, and unless unique: distance, test, original, and, of a copy, root. A root equal to the original,
// the common case, is only a flag on the kind.
const rootIsOriginal = 1 << 7

func appendVerdict(dst []byte, m article.Verdict) []byte {
	switch {
	case m.Kind == article.Unique:
		return append(dst, byte(m.Kind))
	case m.Kind == article.Possible:
		dst = append(dst, byte(m.Kind), byte(m.Distance), byte(m.Reason))
		return appendRef(dst, m.Original)
	case m.Root == m.Original:
		dst = append(dst, byte(m.Kind)|rootIsOriginal, byte(m.Distance), byte(m.Reason))
		return appendRef(dst, m.Original)
	default:
		dst = append(dst, byte(m.Kind), byte(m.Distance), byte(m.Reason))
		return appendRef(appendRef(dst, m.Original), m.Root)
	}
}

// decodeVerdict returns the verdict of the article self.
func decodeVerdict(data []byte, self article.Ref) (article.Verdict, error) {
	if len(data) == 1 && article.Kind(data[0]) == article.Unique {
		return article.Verdict{Kind: article.Unique, Root: self}, nil
	}
	if len(data) < 3 {
		return article.Verdict{}, errCorrupt
	}
	m := article.Verdict{Kind: article.Kind(data[0] &^ rootIsOriginal), Distance: int(data[1]), Reason: article.Reason(data[2])}
	d := decoder{data: data[3:]}
	m.Original = d.ref()
	switch {
	case m.Kind == article.Possible:
		m.Root = self
	case data[0]&rootIsOriginal != 0:
		m.Root = m.Original
	default:
		m.Root = d.ref()
	}
	if d.bad || len(d.data) != 0 || !m.Kind.IsCopy() && data[0] != byte(article.Possible) {
		return article.Verdict{}, errCorrupt
	}
	return m, nil
}

func appendRef(dst []byte, r article.Ref) []byte {
	dst = appendString(dst, r.Topic)
	dst = binary.AppendVarint(dst, int64(r.Partition))
	dst = binary.AppendVarint(dst, r.Offset)
	return appendString(dst, r.ID)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decoder reads what the append functions wrote; bad stays set after the first mistake.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) string() string {
	length, n := binary.Uvarint(d.data)
	if n <= 0 || length > uint64(len(d.data)-n) {
		d.bad = true
		return ""
	}
	s := string(d.data[n : n+int(length)])
	d.data = d.data[n+int(length):]
	return s
}

func (d *decoder) ref() article.Ref {
	var r article.Ref
	r.Topic = d.string()
	r.Partition = int32(d.varint())
	r.Offset = d.varint()
	r.ID = d.string()
	return r
}
