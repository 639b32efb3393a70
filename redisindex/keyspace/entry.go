package keyspace

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
)

// EntriesInLua are the functions in front of every script for entries.
//
//go:embed lua/find.lua
var EntriesInLua string

// ErrCorrupt says that bytes are not an entry or a verdict, as when another program has written into the namespace.
var ErrCorrupt = errors.New("bytes in Redis are no entry")

// Entry is what Redis keeps of an article, and where. A decoded entry has these fields of the article:
// Coordinates, ID, Time, Fingerprint, Digest, LittleText and Signature.
type Entry struct {
	article.Article
	Slice        int64
	Ticket       uint64 // 0: none yet
	VerdictBytes []byte // encoded; nil: undecided. It is decoded late, because few of the fetched entries need it.
}

// Identity tells articles apart. Coordinates would be enough if the same coordinates always came with the
// same text. The digest is a guard: a topic that was deleted and recreated gives the same coordinates to
// another text.
type Identity struct {
	article.Coordinates
	digest article.Digest
}

// EntryOf is the entry of an article that has neither a ticket nor a verdict yet.
func (l Layout) EntryOf(a *article.Article) Entry {
	return Entry{Article: *a, Slice: l.Slice(WindowTime(a.Time))}
}

// Identity tells the article from others.
func (e *Entry) Identity() Identity { return Identity{e.Coordinates, e.Digest} }

// Field is the field in which the entry lies.
func (e *Entry) Field() FieldRef { return FieldRef{e.Slice, e.Fingerprint} }

// Millis is the article's time in the window.
func (e *Entry) Millis() int64 { return WindowTime(e.Time) }

// Verdict decodes the verdict. Its Kind is zero as long as the article is undecided. It is not ok if the bytes are no
// verdict.
func (e *Entry) Verdict() (v article.Verdict, ok bool) {
	if len(e.VerdictBytes) == 0 {
		return v, true
	}
	return packed.DecodeVerdict(e.VerdictBytes, e.Ref())
}

// Before says whether the article is earlier than another one: by ticket, or by coordinates if a lost counter
// has dealt a ticket twice.
func (e *Entry) Before(o *Entry) bool {
	if e.Ticket != o.Ticket {
		return e.Ticket < o.Ticket
	}
	return e.Compare(o.Coordinates) < 0
}

// Layout of an entry:
//
//	length u16, head length u16, ticket 6 bytes, digest 16 bytes, form u8, coordinates, packed id (packed.AppendID),
//	time, signature | verdict
//
// Numbers are big-endian. The time counts from the start of the slice, in milliseconds. The head is
// everything before the verdict. The scripts know the first four fields (lua/find.lua); restore.lua also
// compares coordinates. An entry has at most 64 KiB.
const (
	ticketAt = 4
	digestAt = 10
	formAt   = 26

	// The form is the version with flags.
	flagLittle = 1 << 7 // the article has little text
)

const (
	// MaxTicket is the highest ticket there is: that of overflow entries.
	MaxTicket = 1<<48 - 1
	// Withdrawn is added to a ticket that was withdrawn. The entry has no ticket then, but only a higher one
	// may follow: articles have been decided as if this one were later than the withdrawn ticket. Example:
	// worker A draws 1 for an article and pauses; worker B decides a copy with the ticket 2, and gives the
	// article the ticket 3; worker C withdraws 3. If A could set 1 now, neither of the two copies would find
	// an earlier one.
	//
	// The counter stays below withdrawn. 47 bits last for 200,000 articles a second during 22 years.
	Withdrawn = 1 << TicketBits
	// TicketBits is the length of every ticket that was drawn. A counter with more bits is not Echosieve's.
	TicketBits = 47
)

// HiddenDigest is the digest of the article's entry if the entry is hidden. Only a replay of the article's
// own record finds a hidden entry: scripts find entries by their digests, and this digest belongs to this
// record alone. Look-ups find the entry, but its ticket is maxTicket, so it is the original of nothing.
// Entries are hidden by redisindex.Index.Hide and, if they cannot be stored otherwise, by a refill.
func (e *Entry) HiddenDigest() []byte {
	h := fnv.New64a()
	h.Write(packed.AppendCoordinates(make([]byte, 0, 64), e.Coordinates)) // writing to a hash never fails
	hidden := e.Digest
	binary.BigEndian.PutUint64(hidden[:8], binary.BigEndian.Uint64(hidden[:8])^h.Sum64())
	binary.BigEndian.PutUint64(hidden[8:], binary.BigEndian.Uint64(hidden[8:])+h.Sum64())
	return hidden[:]
}

// TicketBytes encodes a ticket for the scripts.
func TicketBytes(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n)[2:])
}

// IsWithdrawn says whether an entry with the ticket has none, because it was withdrawn.
func IsWithdrawn(ticket uint64) bool { return ticket >= Withdrawn && ticket != MaxTicket }

// TicketNumber is the inverse of TicketBytes.
func TicketNumber(s string) uint64 {
	var buf [8]byte
	copy(buf[2:], s)
	return binary.BigEndian.Uint64(buf[:])
}

// Append encodes the entry of a new article: without ticket and verdict. sliceStart is when the entry's slice
// starts, see layout.start.
func (e *Entry) Append(dst []byte, sliceStart int64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, digestAt)...)
	dst = append(dst, e.Digest[:]...)
	form := byte(version)
	if e.LittleText {
		form |= flagLittle
	}
	dst = append(dst, form)
	dst = packed.AppendRef(dst, e.Ref())
	dst = binary.AppendVarint(dst, e.Millis()-sliceStart)
	dst = append(dst, e.Signature...) // up to the end of the head
	length := uint16(len(dst) - start)
	binary.BigEndian.PutUint16(dst[start:], length)
	binary.BigEndian.PutUint16(dst[start+2:], length)
	return dst
}

// AppendDecided encodes the entry with its ticket and a verdict.
func (e *Entry) AppendDecided(dst []byte, sliceStart int64, v article.Verdict) []byte {
	start := len(dst)
	dst = packed.AppendVerdict(e.Append(dst, sliceStart), v, e.Ref())
	binary.BigEndian.PutUint16(dst[start:], uint16(len(dst)-start))
	copy(dst[start+ticketAt:], TicketBytes(e.Ticket))
	return dst
}

// CutEntry decodes the first entry of the value of a field, and returns the rest of the value. sliceStart is
// when the slice starts.
func CutEntry(f FieldRef, sliceStart int64, data string) (e Entry, rest string, err error) {
	if len(data) < formAt+1 {
		return Entry{}, "", ErrCorrupt
	}
	raw := []byte(data)
	length, head := int(binary.BigEndian.Uint16(raw)), int(binary.BigEndian.Uint16(raw[2:]))
	if length > len(raw) || head > length || head <= formAt || raw[formAt]&^flagLittle != version {
		return Entry{}, "", ErrCorrupt
	}
	e.Slice, e.Fingerprint = f.Slice, f.Fingerprint
	e.Ticket = TicketNumber(data[ticketAt:digestAt])
	if IsWithdrawn(e.Ticket) {
		e.Ticket = 0
	}
	e.Digest = article.Digest(raw[digestAt:formAt])
	e.LittleText = raw[formAt]&flagLittle != 0
	d := packed.Decoder{Data: raw[formAt+1 : head]}
	ref := d.Ref()
	e.ID, e.Coordinates = ref.ID, ref.Coordinates
	e.Time = time.UnixMilli(sliceStart + d.Varint())
	if len(d.Data) > 0 {
		e.Signature = d.Data
	}
	if d.Bad {
		return Entry{}, "", ErrCorrupt
	}
	if length > head {
		e.VerdictBytes = raw[head:length]
	}
	return e, data[length:], nil
}
