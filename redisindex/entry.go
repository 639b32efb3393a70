package redisindex

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

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

// keyError says that Redis cannot do the work because of what a key below our namespace holds: another program's value, as a rule.
// Only an operator can know whether the value is needed elsewhere.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return fmt.Sprintf("key %q: %v", e.key, e.err) }
func (e *keyError) Unwrap() error { return e.err }

// damagedError says that one of some fields of entries holds bytes that are no entry.
type damagedError struct {
	key    string
	fields []string
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("key %q, field %s: %v", e.key, hex.EncodeToString([]byte(e.fields[0])), errCorrupt)
}
func (e *damagedError) Unwrap() error { return errCorrupt }

// damaged is the error about an entry with the digest, which lies in the field or, of a crowded fingerprint, in a field of
// its own.
func (x *Index) damaged(f fieldRef, d article.Digest) error {
	return &damagedError{key: x.keys.entries(f), fields: []string{f.name(), f.name() + string(d[:])}}
}

// decodeField decodes the entries of a fingerprint's field.
func (x *Index) decodeField(f fieldRef, value string) (entries []*entry, err error) {
	for value != "" {
		e, rest, err := cutEntry(value)
		if err != nil {
			return nil, &damagedError{key: x.keys.entries(f), fields: []string{f.name()}}
		}
		entries = append(entries, &e)
		value = rest
	}
	return entries, nil
}

// aboutData adds the key to an error that comes from the value that the command met.
func aboutData(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := keyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint, digest := args[4].(string), args[5].([]byte)
		return &damagedError{key: name, fields: []string{fingerprint, fingerprint + string(digest)}}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"), strings.Contains(text, "increment or decrement would overflow"):
		return &keyError{key: name, err: err}
	}
	return err
}

// keyOf is the key that a command is about: the first one.
func keyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}

// setAside takes the damage out of the fields, so that their partition goes on: the damaged value is copied to a key of its own,
// which expires like an entry, and only the entries before the damage stay. Articles whose entries were behind it are forgotten:
// copies of them can pass as unique. Where another process was faster, nothing is left to do.
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
			x.life.damage()
			x.log.ErrorContext(ctx, "a damaged entry was set aside: copies of the article that it held can pass as unique; did another program write into this namespace?",
				"key", d.key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to", copied)
		}
	}
	return nil
}

// intactBytes is the length of the whole entries at the beginning of a field's value.
func intactBytes(value string) int {
	for rest := value; rest != ""; {
		e, after, err := cutEntry(rest)
		if err == nil && len(e.verdict) > 0 {
			_, err = decodeVerdict(e.verdict, e.ref)
		}
		if err != nil {
			return len(value) - len(rest)
		}
		rest = after
	}
	return len(value)
}
