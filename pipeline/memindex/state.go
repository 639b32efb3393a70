package memindex

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"echosieve/pipeline/lookup"
	"echosieve/pipeline/packed"
)

// A folder holds an index in the file "index", which only grows. When half of it is about forgotten slices,
// the rest is copied to "index.new", which takes its place. The file "lock" is locked while a process has the
// folder. "index.cut" holds what a crash had left unfinished at the end, until the next crash.
//
// Behind its first line, the file is a sequence of frames: length of the items u32, their CRC-32C u32, items,
// 'z'. Sync writes one frame and waits until the disk has it, so only the last frame can be cut off by a
// crash. An item is a kind, its length as a varint, and
//
//	'h'  header: the settings that must stay, as JSON
//	't'  topic: its name; topics are numbered in their order
//	'n'  note: key behind its length, value
//	'e'  entry: number of its slice, number of anchors, anchors of 5 bytes, record (entry.go)
type state struct {
	dir        string
	file, lock *os.File
	header     []byte
	size       int64 // of the file, in bytes
	dead       int64 // of it notes that were replaced
	pending    []byte
	notes      map[string]string
}

const (
	indexFile, newFile, cutFile, lockFile = "index", "index.new", "index.cut", "lock"

	// minDead is the number of bytes about forgotten slices from which on a file is copied.
	minDead = 16 << 20
)

// header is what must not change while a folder is in use.
type header struct {
	Format int    `json:"format"`
	Recipe string `json:"recipe"`
	Window string `json:"window"`
	Slices int    `json:"slices"`
}

// Open returns the index that a folder holds, after the last Sync. It makes the folder if there is none.
// recipe is the id of the recipe. One process can have a folder at a time. An error says what to do.
func Open(dir string, cfg Config, recipe string) (x *Index, err error) {
	x = New(cfg)
	x.state = &state{dir: dir, notes: map[string]string{}}
	if x.state.header, err = json.Marshal(header{1, recipe, cfg.Window.String(), cfg.Slices}); err != nil {
		return nil, err
	}
	if err := x.state.open(x); err != nil {
		x.state.close()
		return nil, err
	}
	return x, nil
}

func (s *state) open(x *Index) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("%w; name a folder", err)
	}
	if err := ownFolder(s.dir); err != nil {
		return err
	}
	others, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("%w; name a folder that can be read", err)
	}
	for _, o := range others {
		if !slices.Contains([]string{indexFile, newFile, cutFile, lockFile}, o.Name()) {
			return fmt.Errorf("the folder %s holds other files, such as %s: name a new or empty one", s.dir, o.Name())
		}
	}
	if s.lock, _, err = s.openFile(lockFile); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has the folder %s: wait for its end, or name another folder (%w)", s.dir, err)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, indexFile)); errors.Is(err, fs.ErrNotExist) {
		return s.copyLive(x) // an index takes its name as a whole: one without a header is damaged
	}
	var size int64
	if s.file, size, err = s.openFile(indexFile); err != nil {
		return err
	}
	if size == 0 {
		return s.damaged(0)
	}
	return s.load(x)
}

// ownFolder refuses a folder in which somebody else can put files.
func ownFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w; name a folder", err)
	}
	switch stat, known := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder: name one", dir)
	case known && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("the folder %s belongs to another user: name one of your own", dir)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("every user can write to the folder %s: type chmod o-w %s, or name another one", dir, dir)
	}
	return nil
}

// openFile opens a file of the folder, or makes it. It follows no link and does not wait for a pipe.
func (s *state) openFile(name string) (*os.File, int64, error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, 0, fmt.Errorf("%s is a link: name a folder that this program has made", path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w; name a folder that can be written", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: name a folder that this program has made", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (s *state) damaged(at int64) error {
	return fmt.Errorf("%s is damaged behind byte %d: bring it back from a backup, or name a new folder, with "+
		"which old articles are forgotten", filepath.Join(s.dir, indexFile), at)
}

// load reads the file and cuts a frame off that a crash has left unfinished.
func (s *state) load(x *Index) error {
	first := true
	good, err := frames(s.file, func(items []byte) error {
		return eachItem(items, func(kind byte, item []byte) error {
			if first != (kind == 'h') {
				return errDamaged
			}
			first = false
			return s.apply(x, kind, item)
		})
	})
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%s is no index of this program: name a new folder", s.file.Name())
	case errors.Is(err, errDamaged), err == nil && first:
		return s.damaged(good)
	case err != nil:
		return err
	}
	if err := s.keepRest(good); err != nil {
		return err
	}
	s.size = good
	_, err = s.file.Seek(good, io.SeekStart)
	return errors.Join(err, s.file.Truncate(good))
}

// keepRest copies what stands behind the whole frames to "index.cut", before it is cut off.
func (s *state) keepRest(good int64) error {
	info, err := s.file.Stat()
	if err != nil || info.Size() == good {
		return err
	}
	cut, _, err := s.openFile(cutFile)
	if err != nil {
		return err
	}
	_, err = io.Copy(cut, io.NewSectionReader(s.file, good, info.Size()-good))
	return errors.Join(err, cut.Truncate(info.Size()-good), cut.Sync(), cut.Close())
}

// apply takes an item over into the index.
func (s *state) apply(x *Index, kind byte, item []byte) error {
	d := packed.Decoder{Data: item}
	switch kind {
	case 'h':
		return s.sameSettings(item)
	case 't':
		x.topics.number(string(item))
	case 'n':
		key := string(d.Bytes())
		s.notes[key] = string(d.Data)
	case 'e':
		n, anchors := d.Varint(), make([]uint64, d.Uvarint()&7)
		for i := range anchors {
			var word [8]byte
			d.Data = d.Data[copy(word[:anchorSize], d.Data):] // a cut one leaves no record
			anchors[i] = binary.BigEndian.Uint64(word[:])
		}
		if d.Bad || max(n, -n) < 0 || max(n, -n) > math.MaxInt64/x.sliceMs || !x.topics.valid(d.Data, x.sliceMs, x.arrivals) {
			return errDamaged
		}
		x.restore(x.slice(n), anchors, record(d.Data))
	default:
		return errDamaged
	}
	if d.Bad {
		return errDamaged
	}
	return nil
}

// restore stores a record as claim did.
func (x *Index) restore(sl *slice, anchors []uint64, r record) {
	e, _ := x.topics.decode(r)
	e.Anchors = anchors
	x.list(sl, &e.Article)
	x.arrivals = e.ticket
	x.keep(sl, r)
}

// sameSettings refuses a folder that was made with other settings.
func (s *state) sameSettings(stored []byte) error {
	var was, is header
	if err := errors.Join(json.Unmarshal(stored, &was), json.Unmarshal(s.header, &is)); err != nil {
		return errDamaged
	}
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"format", was.Format, is.Format}, {"recipe", was.Recipe, is.Recipe}, {"window", was.Window, is.Window},
		{"redis.generations", was.Slices, is.Slices},
	} {
		if f.was != f.is {
			return fmt.Errorf("the folder %s was made with %s %v, and this run has %v: give the settings of then, "+
				"or fill a new folder with the articles of the window, the oldest first: echosieve filter --state NEW "+
				"FILES > /dev/null", s.dir, f.name, f.was, f.is)
		}
	}
	return nil
}

func (s *state) item(kind byte, data []byte) {
	s.pending = binary.AppendUvarint(append(s.pending, kind), uint64(len(data)))
	s.pending = append(s.pending, data...)
}

// entry queues an entry.
func (s *state) entry(slice int64, anchors []uint64, r record) {
	anchors = anchors[:min(len(anchors), lookup.StoredAnchors)]
	item := append(binary.AppendVarint(make([]byte, 0, 64+len(r)), slice), byte(len(anchors)))
	for _, a := range anchors {
		item = append(item, binary.BigEndian.AppendUint64(nil, a)[:anchorSize]...)
	}
	s.item('e', append(item, r...))
}

// Note returns what SetNote has kept under a key. The index must be in a folder.
func (x *Index) Note(key string) (value string, kept bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	value, kept = x.state.notes[key]
	return value, kept
}

// Notes returns all notes whose keys begin with a prefix, in the order of their keys.
func (x *Index) Notes(prefix string) (values []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(x.state.notes)) {
		if strings.HasPrefix(key, prefix) {
			values = append(values, x.state.notes[key])
		}
	}
	return values
}

// SetNote keeps a text beside the articles from the next Sync on. The index must be in a folder.
func (x *Index) SetNote(key, value string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.note(key, value)
}

func (s *state) note(key, value string) {
	s.dead += int64(len(s.notes[key]))
	s.notes[key] = value
	s.item('n', append(append(binary.AppendUvarint(nil, uint64(len(key))), key...), value...))
}

// Sync returns when the disk has all that was claimed: then a crash loses none of it. After an error the
// index must not be used further: the folder has what the Sync before has written. Without a folder it does
// nothing.
func (x *Index) Sync() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.state
	if s == nil || len(s.pending) == 0 {
		return nil
	}
	if len(s.pending) > maxFrame { // Open would take it for damage
		return fmt.Errorf("more than %d MiB since the last Sync: call Sync more often", maxFrame>>20)
	}
	n, err := s.file.Write(frame(s.pending))
	s.pending = s.pending[:0]
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		_ = s.file.Truncate(s.size) // else the next Open does it
		return fmt.Errorf("%w: what was written out before is safe; make room and run the command again", err)
	}
	s.size += int64(n)
	if s.dead+x.dead > max(minDead, s.size/2) {
		return s.copyLive(x)
	}
	return nil
}

// Close gives the folder free. What was claimed after the last Sync is lost.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state.close()
}

func (s *state) close() (err error) {
	if s == nil {
		return nil
	}
	for _, f := range []*os.File{s.file, s.lock} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
