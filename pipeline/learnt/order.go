package learnt

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

// InOrder learns from articles in one order: a sentence is left out from the next article on. Safe for concurrent use,
// but what is learnt depends on the order of the calls.
type InOrder struct {
	*Counter
	Rows *Rows
}

// NewInOrder returns an InOrder that knows nothing.
func NewInOrder() *InOrder {
	rows := &Rows{}
	return &InOrder{NewCounter(rows), rows}
}

// Await returns at once: rows that are learnt later count for later articles only.
func (*InOrder) Await(context.Context, time.Time) error { return nil }

// Learn leaves a sentence out at once.
func (o *InOrder) Learn(row Row) (atOnce bool) {
	o.Rows.Add(row)
	return true
}

// state is what an InOrder knows, in the form in which it is kept.
type state struct {
	Version int
	Rows    []Row
	First   map[uint32]uint64 // places that are not empty
	Again   map[uint64]kept
	By      map[uint64][]uint32
}

// kept is what state has of sightings.
type kept struct {
	Keys []uint32
	Days []uint16
}

// stateVersion is the version of state.
const stateVersion = 1

// State returns all that is known, for Restore.
func (o *InOrder) State() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := state{Version: stateVersion, Rows: o.Rows.All(), First: map[uint32]uint64{}, Again: map[uint64]kept{},
		By: map[uint64][]uint32{}}
	for place, seen := range o.first {
		if seen != 0 {
			s.First[uint32(place)] = uint64(seen)
		}
	}
	for id, seen := range o.again {
		s.Again[id] = kept{seen.keys[:seen.n], seen.days[:seen.n]}
	}
	for hash, p := range o.by {
		s.By[hash] = p.of[:p.n]
	}
	var b bytes.Buffer
	packed, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err == nil {
		err = gob.NewEncoder(packed).Encode(&s)
	}
	if err == nil {
		err = packed.Close()
	}
	return b.Bytes(), err
}

// Restore makes an InOrder know what the one knew whose State it is given. An error says that it is damaged or of
// another version.
func (o *InOrder) Restore(data []byte) error {
	unpacked, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxState))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	var s state
	if err := gob.NewDecoder(unpacked).Decode(&s); err != nil {
		return fmt.Errorf("the learnt sentences are damaged: %w", err)
	}
	if s.Version != stateVersion {
		return fmt.Errorf("what was learnt has version %d, known: %d", s.Version, stateVersion)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range s.Rows {
		o.Rows.Add(row)
	}
	for place, seen := range s.First {
		o.first[place%places] = sighting(seen)
	}
	for id, k := range s.Again {
		seen := sightings{}
		seen.n = uint8(copy(seen.keys[:], k.Keys))
		copy(seen.days[:], k.Days)
		o.again[id] = seen
	}
	for hash, of := range s.By {
		p := publishers{}
		p.n = uint8(copy(p.of[:], of))
		o.by[hash] = p
	}
	return nil
}

// maxState bounds the memory of a state that is unpacked, in bytes.
const maxState = 64 << 20
