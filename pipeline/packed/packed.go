// Package packed makes the bytes in which an index keeps names and verdicts of articles: numbers are varints,
// ids that are numbers take half of their length, and a verdict leaves out what its article says.
package packed

import (
	"encoding/binary"

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
	if n <= 0 {
		d.Bad = true
		return 0
	}
	d.Data = d.Data[n:]
	return v
}

// Uvarint decodes a number.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.Data)
	if n <= 0 {
		d.Bad = true
		return 0
	}
	d.Data = d.Data[n:]
	return v
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
