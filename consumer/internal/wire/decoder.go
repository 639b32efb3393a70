package wire

import (
	"errors"
	"io"
)

var errMalformed = errors.New("record batch is malformed")

// Reserve waits until a decompressor may use so many bytes, or returns an error. The caller calls release
// when the decompressor is closed.
type Reserve func(bytes int64) (release func(), err error)

// ErrNoMemory is the error of a Reserve that does not wait.
var ErrNoMemory = errors.New("the memory for decompressors is used up")

// decoder decompresses a payload. Its memory is known before it is opened: a few bytes can demand gigabytes.
type decoder struct {
	memory int64 // bytes that it takes while it is open
	open   func() (io.ReadCloser, error)
}

// blockReader reads the decompressed blocks that next returns, up to its first error.
type blockReader struct {
	next func() ([]byte, error)
	rest []byte // the part of the last block that was not read yet
}

func (r *blockReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		var err error
		if r.rest, err = r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
