package redisindex

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
)

// entry is what Redis keeps of an article, and where. A decoded entry has these fields of the article: Coordinates, ID, Time,
// Fingerprint, Digest, LittleText and Signature.
type entry struct {
	article.Article
	span         int64
	ticket       uint64 // 0: none yet
	verdictBytes []byte // encoded; nil: undecided. It is decoded late, because few of the fetched entries need it.
}

func (e *entry) identity() identity { return identity{e.Coordinates, e.Digest} }

// field is the field in which the entry lies.
func (e *entry) field() fieldRef { return fieldRef{e.span, e.Fingerprint} }

// ms is the article's time in the window.
func (e *entry) ms() int64 { return windowTime(e.Time) }

// before says whether the article is earlier than another one: by ticket, or by coordinates if a lost counter has dealt a ticket
// twice.
func (e *entry) before(o *entry) bool {
	if e.ticket != o.ticket {
		return e.ticket < o.ticket
	}
	return e.Less(o.Coordinates)
}

// Layout of an entry:
//
//	length u16, head length u16, ticket 6 bytes, digest 16 bytes, form u8, coordinates, packed id (id.go), time, signature | verdict
//
// Numbers are big-endian. The time counts from the start of the span, in milliseconds. The head is everything before the verdict. The
// scripts know the first four fields (lua/find.lua); restore.lua also compares coordinates. An entry has at most 64 KiB.
const (
	ticketAt = 4
	digestAt = 10
	formAt   = 26

	// The form is the version with flags. An entry of an unknown version is treated as damaged, so the version is in every key
	// (newLayout): processes of two versions beside each other share no entry.
	version    = 3
	flagLittle = 1 << 7 // the article has little text
)

// maxEntries is the number of entries that the field of one fingerprint holds. Further entries with that fingerprint are overflow
// entries: each lies in a separate field, whose name is fingerprint and digest. Replays and exact repeats find it there, but it is
// not offered as an original.
//
// An overflow entry is invisible to other articles. It must therefore lose every comparison: its ticket is maxTicket, so any article
// that it finds counts as the earlier one (lua/ticket.lua).
const maxEntries = 8

// maxTicket is the highest ticket there is: that of overflow entries. The counter must stay below it. 48 bits last for 200,000
// articles a second during 44 years.
const maxTicket = 1<<48 - 1

// hiddenDigest is the digest of the article's entry if the entry is hidden. Only a replay of the article's own record finds a hidden
// entry: scripts find entries by their digests, and this digest belongs to this record alone. Look-ups find the entry, but its ticket
// is maxTicket, so it is the original of nothing. Entries are hidden by Index.Hide and, if they cannot be stored otherwise, by
// Index.Restore.
func (e *entry) hiddenDigest() []byte {
	h := fnv.New64a()
	h.Write(appendCoordinates(make([]byte, 0, 64), e.Coordinates)) // writing to a hash never fails
	hidden := e.Digest
	binary.BigEndian.PutUint64(hidden[:8], binary.BigEndian.Uint64(hidden[:8])^h.Sum64())
	binary.BigEndian.PutUint64(hidden[8:], binary.BigEndian.Uint64(hidden[8:])+h.Sum64())
	return hidden[:]
}

// ticketBytes encodes a ticket for the scripts.
func ticketBytes(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n)[2:])
}

func ticketNumber(s string) uint64 {
	var buf [8]byte
	copy(buf[2:], s)
	return binary.BigEndian.Uint64(buf[:])
}

// append encodes the entry of a new article: without ticket and verdict. spanStart is when the entry's span starts, see layout.start.
func (e *entry) append(dst []byte, spanStart int64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, digestAt)...)
	dst = append(dst, e.Digest[:]...)
	form := byte(version)
	if e.LittleText {
		form |= flagLittle
	}
	dst = append(dst, form)
	dst = appendRef(dst, e.Ref())
	dst = binary.AppendVarint(dst, e.ms()-spanStart)
	dst = append(dst, e.Signature...) // up to the end of the head
	length := uint16(len(dst) - start)
	binary.BigEndian.PutUint16(dst[start:], length)
	binary.BigEndian.PutUint16(dst[start+2:], length)
	return dst
}

// cutEntry decodes the first entry of the value of a field, and returns the rest of the value. spanStart is when the span starts.
func cutEntry(f fieldRef, spanStart int64, data string) (e entry, rest string, err error) {
	if len(data) < formAt+1 {
		return entry{}, "", errCorrupt
	}
	raw := []byte(data)
	length, head := int(binary.BigEndian.Uint16(raw)), int(binary.BigEndian.Uint16(raw[2:]))
	if length > len(raw) || head > length || head <= formAt || raw[formAt]&^flagLittle != version {
		return entry{}, "", errCorrupt
	}
	e.span, e.Fingerprint = f.span, f.fingerprint
	e.ticket = ticketNumber(data[ticketAt:digestAt])
	e.Digest = article.Digest(raw[digestAt:formAt])
	e.LittleText = raw[formAt]&flagLittle != 0
	d := decoder{data: raw[formAt+1 : head]}
	ref := d.ref()
	e.ID, e.Coordinates = ref.ID, ref.Coordinates
	e.Time = time.UnixMilli(spanStart + d.varint())
	if len(d.data) > 0 {
		e.Signature = d.data
	}
	if d.bad {
		return entry{}, "", errCorrupt
	}
	if length > head {
		e.verdictBytes = raw[head:length]
	}
	return e, data[length:], nil
}

// decodeField decodes all entries of a fingerprint's field.
func (x *Index) decodeField(f fieldRef, value string) (entries []*entry, err error) {
	for value != "" {
		e, rest, err := cutEntry(f, x.layout.start(f.span), value)
		if err != nil {
			return nil, &damagedError{key: x.keys.entries(f), fields: []string{f.name()}}
		}
		entries = append(entries, &e)
		value = rest
	}
	return entries, nil
}

func appendRef(dst []byte, r article.Ref) []byte {
	return appendString(appendCoordinates(dst, r.Coordinates), string(appendID(make([]byte, 0, 64), r)))
}

func appendCoordinates(dst []byte, c article.Coordinates) []byte {
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

// errCorrupt says that bytes are not an entry or a verdict, as when another program has written into the namespace.
var errCorrupt = errors.New("bytes in Redis are no entry")

// keyError says that the value of a key below the namespace prevents the work of the index. Usually another program wrote it. Only an
// operator can know whether that program needs it, so the index leaves it alone.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return fmt.Sprintf("key %q: %v", e.key, e.err) }
func (e *keyError) Unwrap() error { return e.err }

// damagedError says that at least one of the fields holds bytes that are not entries.
type damagedError struct {
	key    string
	fields []string // at least one
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("key %q, field %s: %v", e.key, hex.EncodeToString([]byte(e.fields[0])), errCorrupt)
}
func (e *damagedError) Unwrap() error { return errCorrupt }

// damaged returns the error about the stored entry of an article. The entry lies in the field of its fingerprint or, if it is an
// overflow entry, in a separate field, whose name also depends on whether the entry is hidden.
func (x *Index) damaged(e *entry) error {
	f := e.field()
	return &damagedError{key: x.keys.entries(f), fields: []string{f.name(), f.name() + string(e.Digest[:]), f.name() + string(e.hiddenDigest())}}
}

// hiddenArg is where store.lua and restore.lua take the digest of a hidden entry; the other scripts have fewer arguments.
const hiddenArg = 9

// withKey adds the key to an error whose cause is the value that the command found there.
func withKey(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := keyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint := args[4].(string)
		fields := []string{fingerprint, fingerprint + string(args[5].([]byte))}
		if len(args) > hiddenArg {
			fields = append(fields, fingerprint+string(args[hiddenArg].([]byte)))
		}
		return &damagedError{key: name, fields: fields}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"), strings.Contains(text, "increment or decrement would overflow"):
		return &keyError{key: name, err: err}
	}
	return err
}

// keyOf is the key of a command. Every command of the index has one key.
func keyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}

// setAside removes the damage from the fields, so that their partition goes on. It copies the damaged value to a separate key,
// which expires like an entry, and leaves only the entries before the damage. Articles whose entries were behind the damage are
// forgotten: copies of them can pass as unique. If another process has removed the damage already, nothing happens.
func (x *Index) setAside(ctx context.Context, d *damagedError) error {
	for _, field := range d.fields {
		value, err := x.client.HGet(ctx, d.key, field).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		intact := intactBytes(value)
		if intact == len(value) {
			continue
		}
		copied := x.keys.damaged(d.key, field)
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, copied, "value", value)
		pipe.Expire(ctx, copied, x.layout.lifetime)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		pipe = x.client.Pipeline()
		mended := mendScript.EvalSha(ctx, pipe, []string{d.key}, field, value, value[:intact])
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		if n, _ := mended.Val().(int64); n == 1 {
			x.metrics.damaged.Inc()
			x.watermarks.noteDamage()
			x.log.ErrorContext(ctx, "a damaged entry was set aside: copies of the article that it held can pass as unique; did another program write into this namespace?",
				"key", d.key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to", copied)
		}
	}
	return nil
}

// intactBytes is the length of the whole entries at the beginning of a field's value.
func intactBytes(value string) int {
	for rest := value; rest != ""; {
		e, after, err := cutEntry(fieldRef{}, 0, rest)
		if err == nil && len(e.verdictBytes) > 0 {
			_, err = decodeVerdict(e.verdictBytes, e.Ref())
		}
		if err != nil {
			return len(value) - len(rest)
		}
		rest = after
	}
	return len(value)
}
