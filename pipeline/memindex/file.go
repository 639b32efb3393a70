package memindex

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"echosieve/pipeline/packed"
)

// The frames of a state's file, see state.
const (
	magic      = "echosieve index 1\n"
	frameHead  = 8
	frameBytes = frameHead + len(frameEnd) // beside the items
	frameEnd   = "z"
	anchorSize = 5 // a list's value has at most 33 bits
	// copyFrame is the size at which a frame of a copy ends, in bytes.
	copyFrame = 1 << 20
	// maxFrame is the longest frame, in bytes: a batch has far less. A file with holes claims any length.
	maxFrame = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame makes a frame of items.
func frame(items []byte) []byte {
	f := binary.LittleEndian.AppendUint32(make([]byte, 0, frameBytes+len(items)), uint32(len(items)))
	f = binary.LittleEndian.AppendUint32(f, crc32.Checksum(items, castagnoli))
	return append(append(f, items...), frameEnd...)
}

var (
	errDamaged = errors.New("damaged")
	errForeign = errors.New("no index")
)

// frames calls f with the items of each frame of a file, and returns the length of the whole frames. An
// unfinished frame at the end is left out. If something follows a damaged frame, the error is errDamaged.
func frames(file *os.File, f func(items []byte) error) (good int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(file, copyFrame)
	first, _ := in.Peek(len(magic))
	if string(first) != magic {
		return 0, errForeign
	}
	good = int64(len(magic))
	_, _ = in.Discard(len(magic))
	for {
		rest := info.Size() - good - int64(frameBytes)
		var head [frameHead]byte
		if rest < 0 {
			return good, nil
		}
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return good, err
		}
		length := int64(binary.LittleEndian.Uint32(head[:]))
		if length > maxFrame {
			return good, errDamaged
		}
		if length > rest {
			whole, err := endsWhole(file, good+1, info.Size())
			if err == nil && whole {
				err = errDamaged // the length is wrong: a frame follows, so this one was not the last that was written
			}
			return good, err
		}
		items := make([]byte, length+int64(len(frameEnd)))
		if _, err := io.ReadFull(in, items); err != nil {
			return good, err
		}
		items = items[:length]
		if length == 0 || crc32.Checksum(items, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			if length == rest || endsUnwritten(file, info.Size()) {
				return good, nil
			}
			return good, errDamaged
		}
		if err := f(items); err != nil {
			return good, err
		}
		good += int64(frameBytes) + length
	}
}

// endsUnwritten says whether a file ends in a zero byte, and so in no frame: a file system may lengthen a
// file before it has the data.
func endsUnwritten(file *os.File, size int64) bool {
	last := []byte{1}
	_, _ = file.ReadAt(last, size-1)
	return last[0] == 0
}

// endsWhole says whether a file ends in a whole frame that begins at from or behind it.
func endsWhole(file *os.File, from, size int64) (bool, error) {
	rest := make([]byte, min(size-from, maxFrame+int64(frameBytes)))
	if _, err := file.ReadAt(rest, size-int64(len(rest))); err != nil {
		return false, err
	}
	for ; len(rest) >= frameBytes; rest = rest[1:] {
		items := rest[frameHead : len(rest)-len(frameEnd)]
		if int(binary.LittleEndian.Uint32(rest)) == len(items) && len(items) > 0 &&
			crc32.Checksum(items, castagnoli) == binary.LittleEndian.Uint32(rest[4:]) {
			return true, nil
		}
	}
	return false, nil
}

// eachItem calls f with the items of a frame.
func eachItem(items []byte, f func(kind byte, item []byte) error) error {
	d := packed.Decoder{Data: items}
	for len(d.Data) > 0 {
		kind := d.Data[0]
		d.Data = d.Data[1:]
		item := d.Bytes()
		if d.Bad {
			return errDamaged
		}
		if err := f(kind, item); err != nil {
			return err
		}
	}
	return nil
}

// copyLive writes a file without the forgotten slices, in place of the old one.
func (s *state) copyLive(x *Index) error {
	path := filepath.Join(s.dir, newFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, _, err := s.openFile(newFile)
	if err != nil {
		return err
	}
	if err = s.writeLive(x, f); err == nil {
		s.size, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(s.dir, indexFile))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	old := s.file
	s.file, s.dead, x.dead = f, 0, 0
	if old != nil {
		err = old.Close()
	}
	dir, failed := os.Open(s.dir)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, dir.Sync(), dir.Close())
}

// writeLive writes the header, the notes, the topics and the entries of slices that are not forgotten.
func (s *state) writeLive(x *Index, f *os.File) error {
	out := bufio.NewWriterSize(f, copyFrame)
	_, err := out.WriteString(magic)
	flush := func() error {
		_, err := out.Write(frame(s.pending))
		s.pending = s.pending[:0]
		return err
	}
	s.item('h', s.header)
	for _, key := range slices.Sorted(maps.Keys(s.notes)) {
		s.note(key, s.notes[key])
	}
	for _, name := range x.topics.names {
		s.item('t', []byte(name))
	}
	if s.file == nil { // a new folder
		return errors.Join(err, flush(), out.Flush())
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := frames(s.file, func(items []byte) error {
		return eachItem(items, func(kind byte, item []byte) error {
			d := packed.Decoder{Data: item}
			if kind != 'e' || x.slices[d.Varint()] == nil {
				return nil
			}
			if s.item(kind, item); len(s.pending) < copyFrame {
				return nil
			}
			return flush()
		})
	}); err != nil {
		return err
	}
	return errors.Join(err, flush(), out.Flush())
}
