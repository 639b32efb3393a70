package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The file is one zstd frame. In it, little-endian: magic, header, sections in the order of sections, CRC-32C of all of these. The entries
// lie in columns, because columns compress better.
const (
	magic   = "ECHOCUT\n"
	version = 1
)

// header has the lengths of the sections.
type header struct {
	Version, Codes, Known, Weights, Entries uint32
	Sum, Default                            float64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sections lists the sections that follow the header, except the entries.
func (t *Table) sections() []any {
	return []any{t.Runes, t.Root, t.Single, t.Weights, &t.Model.Start, &t.Model.Trans, t.Model.Emit}
}

// Marshal returns the content of the file, not compressed.
func (t *Table) Marshal() ([]byte, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(magic)
	h := header{
		Version: version, Codes: uint32(len(t.Runes)), Known: uint32(len(t.Model.Emit)), Weights: uint32(len(t.Weights)),
		Entries: uint32(len(t.Entries)), Sum: t.Sum, Default: t.Default,
	}
	parts := append([]any{h}, t.sections()...)
	for column := range columns {
		values := make([]uint16, len(t.Entries))
		for i := range t.Entries {
			values[i] = t.Entries[i].column(column)
		}
		parts = append(parts, values)
	}
	for _, part := range parts {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.Checksum(b.Bytes(), castagnoli)), nil
}

// columns is the number of columns of 16 bits that make up an entry.
const columns = 4

func (e *Entry) column(i int) uint16 {
	return [columns]uint16{e.Code, e.Weight, uint16(e.Base), uint16(e.Base >> 16)}[i]
}

func (e *Entry) setColumn(i int, v uint16) {
	switch i {
	case 0:
		e.Code = v
	case 1:
		e.Weight = v
	case 2:
		e.Base = uint32(v)
	case 3:
		e.Base |= uint32(v) << 16
	}
}

// Read unpacks and checks a file. Its error says whether the file is no table, of another version, or damaged.
func Read(packed []byte) (*Table, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	defer dec.Close()
	return unmarshal(dec)
}

// unmarshal reads the content that Marshal returned.
func unmarshal(content io.Reader) (*Table, error) {
	sum := crc32.New(castagnoli)
	r := io.TeeReader(content, sum)
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r, start); err != nil || string(start) != magic {
		return nil, errors.Join(errors.New("table: the file is no word table"), err)
	}
	t, err := read(r)
	if err != nil {
		return nil, err
	}
	want := sum.Sum32()
	var got uint32
	if err := readPart(r, &got); err != nil {
		return nil, err
	}
	if got != want {
		return nil, fmt.Errorf("table: damaged: checksum %08x instead of %08x", want, got)
	}
	return t, t.validate()
}

// read reads all between magic and checksum.
func read(r io.Reader) (*Table, error) {
	var h header
	if err := readPart(r, &h); err != nil {
		return nil, err
	}
	if h.Version != version {
		return nil, fmt.Errorf("table: version %d, this program reads version %d", h.Version, version)
	}
	if h.Codes > MaxCodes || h.Known > h.Codes || h.Weights > MaxWeights || h.Entries > MaxEntries {
		return nil, fmt.Errorf("table: damaged: too large: %+v", h)
	}
	t := &Table{
		Runes: make([]rune, h.Codes), Root: make([]uint32, h.Codes), Single: make([]float64, h.Codes),
		Weights: make([]float64, h.Weights), Entries: make([]Entry, h.Entries),
		Model: Model{Emit: make([][4]float64, h.Known)}, Sum: h.Sum, Default: h.Default,
	}
	for _, section := range t.sections() {
		if err := readPart(r, section); err != nil {
			return nil, err
		}
	}
	for column := range columns {
		if err := t.readColumn(r, column); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Table) readColumn(r io.Reader, column int) error {
	buf := make([]byte, 32<<10)
	for i := 0; i < len(t.Entries); {
		buf := buf[:min(len(buf), 2*(len(t.Entries)-i))]
		if _, err := io.ReadFull(r, buf); err != nil {
			return damaged(err)
		}
		for ; len(buf) > 0; buf = buf[2:] {
			t.Entries[i].setColumn(column, binary.LittleEndian.Uint16(buf))
			i++
		}
	}
	return nil
}

func readPart(r io.Reader, part any) error {
	if err := binary.Read(r, binary.LittleEndian, part); err != nil {
		return damaged(err)
	}
	return nil
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("table: damaged or cut short: %w", err)
}
