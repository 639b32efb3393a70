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

// The file is one zstd frame. In it, little-endian: magic, header, sections in the order of sections, trie,
// CRC-32C of all of these.
const (
	magic   = "ECHOCUT\n"
	version = 2
)

// header has the lengths of the sections.
type header struct {
	Version, Codes, Known, Weights, Entries, Nodes, Parents uint32
	Sum, Default                                            float64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sections lists the sections that follow the header, except the trie.
func (t *Table) sections() []any {
	return []any{t.Runes, t.Single, t.Weights, &t.Model.Start, &t.Model.Trans, t.Model.Emit}
}

// Marshal returns the content of the file, not compressed.
func (t *Table) Marshal() ([]byte, error) {
	if err := t.Model.validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(magic)
	f := newTrie(t)
	h := header{
		Version: version, Codes: uint32(len(t.Runes)), Known: uint32(len(t.Model.Emit)),
		Weights: uint32(len(t.Weights)),
		Entries: uint32(len(t.Entries)), Nodes: uint32(len(f.gaps)), Parents: uint32(len(f.steps)), Sum: t.Sum,
		Default: t.Default,
	}
	parts := append(append([]any{h}, t.sections()...), f.bytes())
	for _, part := range parts {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.Checksum(b.Bytes(), castagnoli)), nil
}

// Read unpacks a file. The program embeds it, and the test of package gen compares it with the dictionaries: its checksum
// is all that is checked.
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
	t, f, err := read(r)
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
	f.enter(t)
	return t, nil
}

// read reads all between magic and checksum. The entries of the table are free.
func read(r io.Reader) (*Table, *trie, error) {
	var h header
	if err := readPart(r, &h); err != nil {
		return nil, nil, err
	}
	t := &Table{
		Runes: make([]rune, h.Codes), Root: make([]uint32, h.Codes), Single: make([]float64, h.Codes),
		Weights: make([]float64, h.Weights), Entries: make([]Entry, h.Entries),
		Model: Model{Emit: make([][4]float64, h.Known)}, Sum: h.Sum, Default: h.Default,
	}
	for _, section := range t.sections() {
		if err := readPart(r, section); err != nil {
			return nil, nil, err
		}
	}
	for i := range t.Entries {
		t.Entries[i].Code = NoEntry
	}
	f, err := readTrie(r, &h)
	return t, f, err
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
