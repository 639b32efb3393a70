package table

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// header is the beginning of the file, which is one zstd frame with a checksum: the lengths of the parts that follow
// it, little-endian.
type header struct {
	Codes, Known, Weights, Entries, Nodes, Parents uint32
	Sum, Default                                   float64
}

// parts lists what follows the header, except the trie.
func (t *Table) parts() []any {
	return []any{t.Runes, t.Single, t.Weights, &t.Model.Start, &t.Model.Trans, t.Model.Emit}
}

// Marshal returns the content of the file, not compressed.
func (t *Table) Marshal() ([]byte, error) {
	f := newTrie(t)
	h := header{
		Codes: uint32(len(t.Runes)), Known: uint32(len(t.Model.Emit)), Weights: uint32(len(t.Weights)),
		Entries: uint32(len(t.Entries)), Nodes: uint32(len(f.gaps)), Parents: uint32(len(f.steps)), Sum: t.Sum,
		Default: t.Default,
	}
	var b bytes.Buffer
	for _, part := range append(append([]any{h}, t.parts()...), f.bytes()) {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	return b.Bytes(), nil
}

// Read unpacks a file. The program embeds it, and the test of package gen compares it with the dictionaries.
func Read(packed []byte) (*Table, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	defer dec.Close()
	var h header
	if err := binary.Read(dec, binary.LittleEndian, &h); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	t := &Table{
		Runes: make([]rune, h.Codes), Root: make([]uint32, h.Codes), Single: make([]float64, h.Codes),
		Weights: make([]float64, h.Weights), Entries: make([]Entry, h.Entries),
		Model: Model{Emit: make([][4]float64, h.Known)}, Sum: h.Sum, Default: h.Default,
	}
	columns := make([]byte, 4*(h.Codes+3*h.Nodes+h.Parents))
	for _, part := range append(t.parts(), columns) {
		if err := binary.Read(dec, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	for i := range t.Entries {
		t.Entries[i].Code = NoEntry
	}
	readTrie(columns, &h).enter(t)
	return t, nil
}
