package keyspace

import (
	"encoding/hex"
	"fmt"
)

// KeyError says that the value of a key below the namespace prevents the work of the index. Usually another
// program wrote it. Only an operator can know whether that program needs it, so the index leaves it alone.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return fmt.Sprintf("key %q: %v", e.Key, e.Err) }
func (e *KeyError) Unwrap() error { return e.Err }

// DamagedError says that at least one of the fields holds bytes that are not entries.
type DamagedError struct {
	Key    string
	Fields []string // at least one
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("key %q, field %s: %v", e.Key, hex.EncodeToString([]byte(e.Fields[0])), ErrCorrupt)
}
func (e *DamagedError) Unwrap() error { return ErrCorrupt }

// Damage returns the error about the stored entry of an article. The entry lies in the field of its
// fingerprint or, if it is an overflow entry, in a separate field, whose name also depends on whether the
// entry is hidden.
func (k Keys) Damage(e *Entry) error {
	f := e.Field()
	return &DamagedError{Key: k.Entries(f), Fields: []string{f.Name(), f.Name() + string(e.Digest[:]),
		f.Name() + string(e.HiddenDigest())}}
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
