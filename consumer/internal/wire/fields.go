package wire

import "encoding/binary"

// fields reads the fields of a response or a record from the front of buf. After the first field that does not fit, bad is
// set and every field read is zero.
type fields struct {
	buf []byte
	bad bool
}

func (f *fields) varint() int64 {
	v, n := binary.Varint(f.buf)
	if n <= 0 || f.bad {
		f.bad = true
		return 0
	}
	f.buf = f.buf[n:]
	return v
}

// take returns the next n bytes. The result has no spare capacity: appending to it copies.
func (f *fields) take(n int64) []byte {
	if f.bad || n < 0 || n > int64(len(f.buf)) {
		f.bad = true
		return nil
	}
	b := f.buf[:n:n]
	f.buf = f.buf[n:]
	return b
}

// nullable reads a length and as many bytes; length -1 is nil.
func (f *fields) nullable() []byte {
	n := f.varint()
	if n == -1 {
		return nil
	}
	return f.take(n)
}

func (f *fields) int16() int16 {
	if b := f.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (f *fields) int32() int32 {
	if b := f.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (f *fields) int64() int64 {
	if b := f.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
