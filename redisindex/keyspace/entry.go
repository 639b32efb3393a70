package keyspace

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"time"

	"echosieve/pipeline/article"
)

// EntriesInLua are the functions in front of every script for entries.
//
//go:embed lua/find.lua
var EntriesInLua string

// Entry is what Redis keeps of an article, and where. A decoded entry has these fields of the article: Coordinates, ID, Time,
// Fingerprint, Digest, LittleText and Signature.
type Entry struct {
	article.Article
	Slice        int64
	Ticket       uint64 // 0: none yet
	VerdictBytes []byte // encoded; nil: undecided. It is decoded late, because few of the fetched entries need it.
}

// Identity tells articles apart. Coordinates would be enough if the same coordinates always came with the same text. The digest is a
// guard: a topic that was deleted and recreated gives the same coordinates to another text.
type Identity struct {
	article.Coordinates
	digest article.Digest
}

// EntryOf is the entry of an article that has neither a ticket nor a verdict yet.
func (k Keys) EntryOf(a *article.Article) Entry {
	return Entry{Article: *a, Slice: k.Layout.Slice(WindowTime(a.Time))}
}

// Identity tells the article from others.
func (e *Entry) Identity() Identity { return Identity{e.Coordinates, e.Digest} }

// Field is the field in which the entry lies.
func (e *Entry) Field() FieldRef { return FieldRef{e.Slice, e.Fingerprint} }

// Millis is the article's time in the window.
func (e *Entry) Millis() int64 { return WindowTime(e.Time) }

// Before says whether the article is earlier than another one: by ticket, or by coordinates if a lost counter has dealt a ticket
// twice.
func (e *Entry) Before(o *Entry) bool {
	if e.Ticket != o.Ticket {
		return e.Ticket < o.Ticket
	}
	return e.Less(o.Coordinates)
}

// Layout of an entry:
//
//	length u16, head length u16, ticket 6 bytes, digest 16 bytes, form u8, coordinates, packed id (appendID), time, signature | verdict
//
// Numbers are big-endian. The time counts from the start of the slice, in milliseconds. The head is everything before the verdict. The
// scripts know the first four fields (lua/find.lua); restore.lua also compares coordinates. An entry has at most 64 KiB.
const (
	ticketAt = 4
	digestAt = 10
	formAt   = 26

	// The form is the version with flags. An entry of an unknown version is treated as damaged, so the version is in every key
	// (newLayout): processes of two versions beside each other share no entry.
	version    = 4
	flagLittle = 1 << 7 // the article has little text
)

// MaxEntries is the number of entries that the field of one fingerprint holds. Further entries with that fingerprint are overflow
// entries: each lies in a separate field, whose name is fingerprint and digest. Replays and exact repeats find it there, but it is
// not offered as an original.
//
// An overflow entry is invisible to other articles. It must therefore lose every comparison: its ticket is maxTicket, so any article
// that it finds counts as the earlier one (lua/ticket.lua).
const MaxEntries = 8

const (
	// MaxTicket is the highest ticket there is: that of overflow entries.
	MaxTicket = 1<<48 - 1
	// Withdrawn is added to a ticket that was withdrawn. The entry has no ticket then, but only a higher one may follow: articles have been
	// decided as if this one were later than the withdrawn ticket. Example: worker A draws 1 for an article and pauses; worker B decides a
	// copy with the ticket 2, and gives the article the ticket 3; worker C withdraws 3. If A could set 1 now, neither of the two copies
	// would find an earlier one.
	//
	// The counter stays below withdrawn. 47 bits last for 200,000 articles a second during 22 years.
	Withdrawn = 1 << 47
)

// HiddenDigest is the digest of the article's entry if the entry is hidden. Only a replay of the article's own record finds a hidden
// entry: scripts find entries by their digests, and this digest belongs to this record alone. Look-ups find the entry, but its ticket
// is maxTicket, so it is the original of nothing. Entries are hidden by redisindex.Index.Hide and, if they cannot be stored otherwise,
// by a refill.
func (e *Entry) HiddenDigest() []byte {
	h := fnv.New64a()
	h.Write(AppendCoordinates(make([]byte, 0, 64), e.Coordinates)) // writing to a hash never fails
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

// Append encodes the entry of a new article: without ticket and verdict. sliceStart is when the entry's slice starts, see layout.start.
func (e *Entry) Append(dst []byte, sliceStart int64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, digestAt)...)
	dst = append(dst, e.Digest[:]...)
	form := byte(version)
	if e.LittleText {
		form |= flagLittle
	}
	dst = append(dst, form)
	dst = appendRef(dst, e.Ref())
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
	dst = AppendVerdict(e.Append(dst, sliceStart), v, e.Ref())
	binary.BigEndian.PutUint16(dst[start:], uint16(len(dst)-start))
	copy(dst[start+ticketAt:], TicketBytes(e.Ticket))
	return dst
}

// CutEntry decodes the first entry of the value of a field, and returns the rest of the value. sliceStart is when the slice starts.
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
	d := decoder{data: raw[formAt+1 : head]}
	ref := d.ref()
	e.ID, e.Coordinates = ref.ID, ref.Coordinates
	e.Time = time.UnixMilli(sliceStart + d.varint())
	if len(d.data) > 0 {
		e.Signature = d.data
	}
	if d.bad {
		return Entry{}, "", ErrCorrupt
	}
	if length > head {
		e.VerdictBytes = raw[head:length]
	}
	return e, data[length:], nil
}

// DecodeField decodes all entries of a fingerprint's field.
func (k Keys) DecodeField(f FieldRef, value string) (entries []*Entry, err error) {
	for value != "" {
		e, rest, err := CutEntry(f, k.Layout.Start(f.Slice), value)
		if err != nil {
			return nil, &DamagedError{Key: k.Entries(f), Fields: []string{f.Name()}}
		}
		entries = append(entries, &e)
		value = rest
	}
	return entries, nil
}

func appendRef(dst []byte, r article.Ref) []byte {
	return appendString(AppendCoordinates(dst, r.Coordinates), string(appendID(make([]byte, 0, 64), r)))
}

// AppendCoordinates encodes coordinates as they stand in an entry.
func AppendCoordinates(dst []byte, c article.Coordinates) []byte {
	dst = appendString(dst, c.Topic)
	dst = binary.AppendVarint(dst, int64(c.Partition))
	return binary.AppendVarint(dst, c.Offset)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decoder decodes the bytes of the append functions. After the first error bad stays set, and results mean nothing.
type decoder struct {
	data []byte // not decoded yet
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

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) string() string { return d.bytes(d.uvarint()) }

func (d *decoder) bytes(n uint64) string {
	if d.bad || n > uint64(len(d.data)) {
		d.bad = true
		return ""
	}
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}

func (d *decoder) ref() article.Ref {
	var r article.Ref
	r.Topic = d.string()
	r.Partition = int32(d.varint())
	r.Offset = d.varint()
	id, ok := unpackID(d.string(), r.Coordinates)
	r.ID, d.bad = id, d.bad || !ok
	return r
}

// Ids are the longest part of an entry after the signature, and most of them are numbers, UUIDs or hashes with a prefix. So a run of
// hexadecimal digits takes half of its length: "source-20240131" takes 12 bytes instead of 15, a UUID 25 instead of 36.
//
// A packed id is a sequence of:
//
//	00-7f      one ASCII character
//	80-fe      minRun to maxRun lower-case hexadecimal digits follow, two a byte; the last byte of an odd number ends with 0
//	ff         the rest of the id follows as it is; at the end of the packed id: the id is the coordinates
const (
	minRun    = 4 // a shorter run takes as much packed
	maxRun    = minRun + restOfID - 1 - hexRun
	hexRun    = 0x80
	restOfID  = 0xff
	hexDigits = "0123456789abcdef"
)

// appendID packs the id of an article.
func appendID(dst []byte, r article.Ref) []byte {
	if strings.HasPrefix(r.ID, r.Topic) && r.ID == r.String() {
		return append(dst, restOfID)
	}
	for id := r.ID; id != ""; {
		n := 0
		for n < min(len(id), maxRun) && strings.IndexByte(hexDigits, id[n]) >= 0 {
			n++
		}
		switch {
		case n >= minRun:
			dst = append(dst, byte(hexRun+n-minRun))
			dst, _ = hex.AppendDecode(dst, []byte(id[:n]+"0"[:n%2])) // digits only, so there is no error
		case id[0] >= hexRun:
			return append(append(dst, restOfID), id...)
		default:
			n = 1
			dst = append(dst, id[0])
		}
		id = id[n:]
	}
	return dst
}

// unpackID returns the id of an article with these coordinates. It reports whether the bytes are a packed id.
func unpackID(packed string, at article.Coordinates) (id string, ok bool) {
	if packed == string([]byte{restOfID}) {
		return at.String(), true
	}
	buf := make([]byte, 0, 64)
	for i := 0; i < len(packed); {
		c := packed[i]
		i++
		switch {
		case c < hexRun:
			buf = append(buf, c)
		case c == restOfID:
			return string(append(buf, packed[i:]...)), true
		default:
			n := int(c) - hexRun + minRun
			if (n+1)/2 > len(packed)-i {
				return "", false
			}
			buf = hex.AppendEncode(buf, []byte(packed[i:i+(n+1)/2]))
			buf = buf[:len(buf)-n%2]
			i += (n + 1) / 2
		}
	}
	return string(buf), true
}
