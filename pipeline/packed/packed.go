// Package packed makes the bytes in which an index keeps names and verdicts of articles: numbers are varints,
// ids that are numbers take half of their length, and a verdict leaves out what its article says.
package packed

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"echosieve/pipeline/article"
)

// AppendRef encodes the coordinates and the id of an article.
func AppendRef(dst []byte, r article.Ref) []byte {
	return appendString(AppendCoordinates(dst, r.Coordinates), string(AppendID(make([]byte, 0, 64), r)))
}

// AppendCoordinates encodes coordinates.
func AppendCoordinates(dst []byte, c article.Coordinates) []byte {
	dst = appendString(dst, c.Topic)
	dst = binary.AppendVarint(dst, int64(c.Partition))
	return binary.AppendVarint(dst, c.Offset)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decoder decodes the bytes of the append functions. After the first error Bad stays set, and results mean nothing.
type Decoder struct {
	Data []byte // not decoded yet
	Bad  bool
}

// Varint decodes a number that may be negative.
func (d *Decoder) Varint() int64 {
	v, n := binary.Varint(d.Data)
	d.pass(n)
	return v
}

// Uvarint decodes a number.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.Data)
	d.pass(n)
	return v
}

// pass passes over a number of n bytes. Where there is none, n is not positive, and the number is 0.
func (d *Decoder) pass(n int) {
	d.Bad = d.Bad || n <= 0
	d.Data = d.Data[max(0, n):]
}

// Bytes decodes bytes behind their number. They share the memory of the data.
func (d *Decoder) Bytes() []byte { return d.cut(d.Uvarint()) }

func (d *Decoder) cut(n uint64) []byte {
	if d.Bad || n > uint64(len(d.Data)) {
		d.Bad = true
		return nil
	}
	part := d.Data[:n:n]
	d.Data = d.Data[n:]
	return part
}

// Ref decodes what AppendRef encoded.
func (d *Decoder) Ref() article.Ref {
	var r article.Ref
	r.Topic = string(d.Bytes())
	r.Partition = int32(d.Varint())
	r.Offset = d.Varint()
	id, ok := UnpackID(string(d.Bytes()), r.Coordinates)
	r.ID, d.Bad = id, d.Bad || !ok
	return r
}

// Ids are the longest part of an entry after the signature, and most of them are numbers, UUIDs or hashes
// with a prefix. So a run of hexadecimal digits takes half of its length: "source-20240131" takes 12 bytes
// instead of 15, a UUID 25 instead of 36.
//
// A packed id is a sequence of:
//
//	00-7f      one ASCII character
//	80-fe      minRun to maxRun lower-case hexadecimal digits follow, two a byte; the last byte of an odd number
//	           ends with 0
//	ff         the rest of the id follows as it is; at the end of the packed id: the id is the coordinates
const (
	minRun    = 4 // a shorter run takes as much packed
	maxRun    = minRun + restOfID - 1 - hexRun
	hexRun    = 0x80
	restOfID  = 0xff
	hexDigits = "0123456789abcdef"
)

// AppendID packs the id of an article, which may be its coordinates.
func AppendID(dst []byte, r article.Ref) []byte {
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

// UnpackID returns the id of an article with these coordinates. It reports whether the bytes are a packed id.
func UnpackID(packed string, at article.Coordinates) (id string, ok bool) {
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

// Layout of a verdict. That of Unique is one byte, the kind. All others are
//
//	kind with destination and flag, distance, reason with relation, similarity, contained, contains, original, root
//
// each of one byte, except for the last two (see appendRelative). The root of a possible copy is left out,
// and that of a copy whose root is the original, which most are: then the flag is set.
//
// Example: a copy in its original's topic, whose original has an id of 12 bytes and an offset of 3, takes 24
// bytes: 6, 1 for the topic, 1 for the partition, 3 for the offset, 1 and 12 for the id.
const (
	rootIsOriginal = 1 << 7
	destinationAt  = 3 // bits above the kind
	relationAt     = 5 // bits above the reason
)

// AppendVerdict encodes the verdict of the article self.
func AppendVerdict(dst []byte, v article.Verdict, self article.Ref) []byte {
	if v.Kind == article.Unique {
		return append(dst, byte(v.Kind))
	}
	copied := v.Kind.IsCopy()
	head := byte(v.Kind) | byte(v.Destination)<<destinationAt
	if copied && v.Root == v.Original {
		head |= rootIsOriginal
	}
	dst = append(dst, head, byte(v.Distance), byte(v.Reason)|byte(v.Relation)<<relationAt,
		byte(v.Similarity), byte(v.Contained), byte(v.Contains))
	dst = appendRelative(dst, v.Original, self)
	if copied && v.Root != v.Original {
		dst = appendRelative(dst, v.Root, self)
	}
	return dst
}

// DecodeVerdict decodes the verdict of the article self. It reports whether the bytes are a verdict.
func DecodeVerdict(data []byte, self article.Ref) (article.Verdict, bool) {
	if len(data) == 1 && article.Kind(data[0]) == article.Unique {
		return article.Verdict{Kind: article.Unique, Root: self}, true
	}
	if len(data) < 6 {
		return article.Verdict{}, false
	}
	v := article.Verdict{
		Kind:        article.Kind(data[0] & (1<<destinationAt - 1)),
		Destination: article.Destination(data[0] &^ rootIsOriginal >> destinationAt),
		Distance:    int(data[1]), Reason: article.Reason(data[2] & (1<<relationAt - 1)),
		Likeness: article.Likeness{
			Relation: article.Relation(data[2] >> relationAt), Similarity: article.Share(data[3]),
			Contained: article.Share(data[4]), Contains: article.Share(data[5]),
		},
	}
	copied, direct := v.Kind.IsCopy(), data[0]&rootIsOriginal != 0
	if !copied && (v.Kind != article.Possible || direct) || !v.Destination.OfVerdict() {
		return article.Verdict{}, false
	}
	d := Decoder{Data: data[6:]}
	v.Original = d.relative(self)
	switch {
	case !copied:
		v.Root = self
	case direct:
		v.Root = v.Original
	default:
		v.Root = d.relative(self)
	}
	if d.Bad || len(d.Data) != 0 {
		return article.Verdict{}, false
	}
	return v, true
}

// appendRelative encodes what r has other than self. The length of the topic is one more than it is, and 0
// stands for the topic of self. The length of the id is two more, 0 stands for the coordinates of r in place
// of an id, and 1 for the id of self.
func appendRelative(dst []byte, r, self article.Ref) []byte {
	if r.Topic == self.Topic {
		dst = append(dst, 0)
	} else {
		dst = append(binary.AppendUvarint(dst, uint64(len(r.Topic))+1), r.Topic...)
	}
	dst = binary.AppendVarint(dst, int64(r.Partition))
	dst = binary.AppendVarint(dst, r.Offset)
	switch r.ID {
	case r.String():
		return append(dst, 0)
	case self.ID:
		return append(dst, 1)
	default:
		return append(binary.AppendUvarint(dst, uint64(len(r.ID))+2), r.ID...)
	}
}

// relative decodes what appendRelative encoded.
func (d *Decoder) relative(self article.Ref) article.Ref {
	r := article.Ref{Coordinates: article.Coordinates{Topic: self.Topic}}
	if n := d.Uvarint(); n > 0 {
		r.Topic = string(d.cut(n - 1))
	}
	r.Partition = int32(d.Varint())
	r.Offset = d.Varint()
	switch n := d.Uvarint(); n {
	case 0:
		r.ID = r.String()
	case 1:
		r.ID = self.ID
	default:
		r.ID = string(d.cut(n - 2))
	}
	return r
}
