package memindex

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"echosieve/pipeline/packed"
)

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
	if s.size, err = s.writeLive(x, f); err == nil {
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

// writeLive writes the header, the notes, the topics and the entries of slices that are not forgotten. It
// returns the size of the file.
func (s *state) writeLive(x *Index, f *os.File) (size int64, err error) {
	out := bufio.NewWriterSize(f, copyFrame)
	n, err := out.WriteString(magic)
	size = int64(n)
	flush := func() error {
		n, err := out.Write(frame(s.pending))
		size, s.pending = size+int64(n), s.pending[:0]
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
		return size, errors.Join(err, flush(), out.Flush())
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
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
		return 0, err
	}
	err = errors.Join(err, flush(), out.Flush()) // before the result is read: flush counts
	return size, err
}
