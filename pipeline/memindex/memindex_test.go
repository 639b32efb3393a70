package memindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/simhash"
)

func TestContract(t *testing.T) {
	indextest.Run(t, func(_ *testing.T, p indextest.Params) pipeline.Index {
		return New(Config{Window: p.Window, Slices: p.Slices, Search: p.Search(), Policy: p.Policy})
	})
}

func TestForgetsWhatIsOutsideTheWindow(t *testing.T) {
	x := New(Config{Window: time.Hour, Slices: 2, Search: article.Search{Rule: article.Rule{MaxDistance: 3},
		Blocks: 4}})
	start := time.Unix(1_700_000_000, 0)
	claim := func(n int, at time.Time) article.Verdict {
		c := article.Article{Coordinates: article.Coordinates{Topic: "t", Offset: int64(n)}, Time: at}
		c.Fingerprint = simhash.Fingerprint(uint64(n) * 0x9E3779B97F4A7C15)
		binary.BigEndian.PutUint64(c.Digest[:], uint64(n))
		m, err := x.Claim(t.Context(), []article.Article{c})
		require.NoError(t, err)
		return m[0]
	}
	const perHour = minSweep / 2
	for n := range 10 * perHour {
		at := start.Add(time.Duration(n) * time.Hour / perHour)
		if n%1000 == 0 { // clocks that are wrong now and then must not make it forget the others
			at = at.AddDate(20, 0, 0)
		}
		claim(n, at)
	}
	require.Less(t, x.stored, 5*perHour, "articles kept")
	const late = 9*perHour + 7
	require.Equal(t, article.Unique, claim(late, start.Add(late*time.Hour/perHour)).Kind, "a replay within the window")
}

var stateConfig = Config{Window: time.Hour, Slices: 2, Search: indextest.Params{MaxDistance: 3}.Search()}

func open(t testing.TB, dir string, cfg Config) *Index {
	t.Helper()
	x, err := Open(dir, cfg, "recipe")
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

// An index that is closed and opened after each call gives the verdicts that the contract wants.
func TestStateContract(t *testing.T) {
	indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
		cfg := Config{Window: p.Window, Slices: p.Slices, Search: p.Search(), Policy: p.Policy}
		return &reopening{Index: open(t, t.TempDir(), cfg), t: t, cfg: cfg}
	})
}

type reopening struct {
	*Index
	t   *testing.T
	cfg Config
}

func (r *reopening) Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error) {
	verdicts, err := r.Index.Claim(ctx, articles)
	if r.t.Name() != "TestStateContract/Concurrent" && r.t.Name() != "TestStateContract/Retract" && err == nil {
		require.NoError(r.t, r.Sync())
		require.NoError(r.t, r.Close())
		r.Index = open(r.t, r.state.dir, r.cfg)
	}
	return verdicts, err
}

// numbered makes articles at times that grow by a second. One in three is a copy.
func numbered(from, to int) (articles []article.Article) {
	for n := from; n < to; n++ {
		a := article.Article{Coordinates: article.Coordinates{Topic: fmt.Sprint("t", n%3), Offset: int64(n)},
			ID: fmt.Sprint("id-", n)}
		a.Time = time.Unix(1_700_000_000+int64(n), 0)
		a.Fingerprint = simhash.Fingerprint(uint64(n-n%3) * 0x9E3779B97F4A7C15)
		if n%3 == 2 {
			a.Fingerprint ^= 1
		}
		a.Anchors = []uint64{uint64(a.Fingerprint), 1 << 63, 3}
		binary.BigEndian.PutUint64(a.Digest[:], uint64(n))
		articles = append(articles, a)
	}
	return articles
}

func claimed(t testing.TB, x *Index, articles []article.Article) []article.Verdict {
	t.Helper()
	v, err := x.Claim(t.Context(), articles)
	require.NoError(t, err)
	return v
}

// Wherever a crash cuts the file off, the next process has all that was synced, and decides the rest as before.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	x, path := open(t, dir, stateConfig), filepath.Join(dir, indexFile)
	first := claimed(t, x, numbered(0, 50))
	x.SetNote("key", "value")
	require.NoError(t, x.Sync())
	synced, err := os.ReadFile(path)
	require.NoError(t, err)
	second := claimed(t, x, numbered(50, 80))
	x.SetNote("key", "later")
	require.NoError(t, x.Sync())
	require.NoError(t, x.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	cuts := []int{len(synced), len(synced) + 1, len(synced) + frameHead, len(whole) - 1, len(whole)}
	for range 10 {
		cuts = append(cuts, len(synced)+r.IntN(len(whole)-len(synced)))
	}
	for _, cut := range cuts {
		for _, tail := range [][]byte{nil, make([]byte, len(whole)-cut)} { // a file system may have lengthened the file
			require.NoError(t, os.WriteFile(path, append(append([]byte{}, whole[:cut]...), tail...), 0o600))
			x = open(t, dir, stateConfig)
			note, kept := x.Note("key")
			require.True(t, kept)
			if cut < len(whole)-len(frameEnd) {
				require.Equal(t, "value", note)
			}
			require.Equal(t, first, claimed(t, x, numbered(0, 50)), "cut to %d", cut)
			require.Equal(t, second, claimed(t, x, numbered(50, 80)), "cut to %d", cut)
			require.NoError(t, x.Sync())
			require.NoError(t, x.Close())
			x = open(t, dir, stateConfig)
			require.Equal(t, second, claimed(t, x, numbered(50, 80)), "cut to %d, then written", cut)
			require.NoError(t, x.Close())
		}
	}
	// Of a file with holes, a frame can claim more than any frame has.
	long := binary.LittleEndian.AppendUint64(bytes.Clone(synced), maxFrame+1)
	require.NoError(t, os.WriteFile(path, long, 0o600))
	require.NoError(t, os.Truncate(path, int64(len(long)+maxFrame+100)))
	_, err = Open(dir, stateConfig, "recipe")
	require.ErrorContains(t, err, fmt.Sprint("is damaged behind byte ", len(synced)))
	whole[len(synced)/2] ^= 1
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	_, err = Open(dir, stateConfig, "recipe")
	require.ErrorContains(t, err, "is damaged behind byte")
}

// A wrong length is no write that a crash has cut off: nothing of the file is cut. What is cut off is kept.
func TestWrongLength(t *testing.T) {
	dir := t.TempDir()
	x, path := open(t, dir, stateConfig), filepath.Join(dir, indexFile)
	sizes := []int64{int64(len(magic))}
	for i := range 3 {
		claimed(t, x, numbered(10*i, 10*i+10))
		require.NoError(t, x.Sync())
		info, err := os.Stat(path)
		require.NoError(t, err)
		sizes = append(sizes, info.Size())
	}
	require.NoError(t, x.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for bit := range 32 {
		damaged := bytes.Clone(whole)
		damaged[sizes[1]+int64(bit/8)] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := Open(dir, stateConfig, "recipe")
		require.ErrorContains(t, err, "is damaged behind byte", "bit %d", bit)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, damaged, left)
	}
	torn := whole[:len(whole)-5]
	require.NoError(t, os.WriteFile(path, torn, 0o600))
	require.NoError(t, open(t, dir, stateConfig).Close())
	cut, err := os.ReadFile(filepath.Join(dir, cutFile))
	require.NoError(t, err)
	require.Equal(t, torn[sizes[2]:], cut)
}

// What Open would take for damage is not written: the folder has what the Sync before has written.
func TestTooMuchForASync(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, stateConfig)
	x.SetNote("key", "value")
	require.NoError(t, x.Sync())
	x.SetNote("key", strings.Repeat("x", maxFrame))
	require.ErrorContains(t, x.Sync(), "call Sync more often")
	require.NoError(t, x.Close())
	x = open(t, dir, stateConfig)
	note, kept := x.Note("key")
	require.True(t, kept)
	require.Equal(t, "value", note)
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, stateConfig)
	refused := func(dir, why string) {
		t.Helper()
		_, err := Open(dir, stateConfig, "recipe")
		require.ErrorContains(t, err, why)
	}
	refused(dir, "another process has the folder")
	require.NoError(t, x.Close())
	_, err := Open(dir, stateConfig, "other")
	require.ErrorContains(t, err,
		"was made with recipe recipe, and this run has other: give the settings of then, or fill a new folder")
	longer := stateConfig
	longer.Window *= 2
	_, err = Open(dir, longer, "recipe")
	require.ErrorContains(t, err, "was made with window 1h0m0s, and this run has 2h0m0s")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	refused(file, "not a directory")
	refused(filepath.Dir(file), "holds other files, such as file: name a new or empty one")
	require.NoError(t, os.WriteFile(filepath.Join(dir, indexFile), []byte("{}\n{}\n{}\n{}\n{}\n"), 0o600))
	refused(dir, "is no index of this program")

	index := filepath.Join(dir, indexFile)
	require.NoError(t, os.Truncate(index, 0))
	refused(dir, "is damaged behind byte 0")
	require.NoError(t, os.Remove(index))
	require.NoError(t, syscall.Mkfifo(index, 0o600))
	refused(dir, "is no file")
	require.NoError(t, os.Remove(index))
	require.NoError(t, os.Symlink(file, index))
	refused(dir, "is a link")
	require.NoError(t, os.Chmod(dir, 0o777))
	refused(dir, "every user can write")
	others := "/" // belongs to root
	if os.Geteuid() == 0 {
		others = t.TempDir()
		require.NoError(t, os.Chown(others, 4711, 4711))
	}
	refused(others, "belongs to another user")
}

// Whatever items a folder holds, opening and using it ends without a panic.
func FuzzState(f *testing.F) {
	x, err := Open(f.TempDir(), stateConfig, "recipe")
	require.NoError(f, err)
	_, err = x.Claim(context.Background(), numbered(0, 3))
	require.NoError(f, err)
	whole := bytes.Clone(x.state.pending)
	f.Add(whole, uint16(0), byte(0))
	for i := range 64 {
		f.Add(whole, uint16(i*7), byte(1<<(i%8)))
	}
	require.NoError(f, x.Sync())
	path := filepath.Join(x.state.dir, indexFile)
	synced, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, items []byte, at uint16, flip byte) {
		if len(items) > 0 {
			items = bytes.Clone(items)
			items[int(at)%len(items)] ^= flip
		}
		dir := t.TempDir()
		file := append(bytes.Clone(synced), frame(items)...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, indexFile), file, 0o600))
		x, err := Open(dir, stateConfig, "recipe")
		if err != nil {
			return
		}
		claimed(t, x, numbered(0, 5))
		require.NoError(t, x.Sync())
		require.NoError(t, x.Close())
	})
}

// copyLive leaves out the slices whose window is over. Articles of the other slices are found as before.
func TestCopyLive(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, stateConfig)
	x.SetNote("key", "value")
	before := claimed(t, x, numbered(0, 10_000))
	require.NoError(t, x.Sync())
	full := x.state.size
	for n := range x.slices {
		if n < 1_700_005_000/1800 {
			delete(x.slices, n)
		}
	}
	x.state.dead = 1 << 40
	claimed(t, x, numbered(10_000, 10_001))
	require.NoError(t, x.Sync())
	require.Less(t, x.state.size, full*2/3)
	more := claimed(t, x, numbered(10_001, 10_300))
	require.NoError(t, x.Sync())
	info, err := x.state.file.Stat()
	require.NoError(t, err)
	require.Equal(t, info.Size(), x.state.size)
	require.NoError(t, x.Close())
	x = open(t, dir, stateConfig)
	note, _ := x.Note("key")
	require.Equal(t, "value", note)
	require.Equal(t, before[6000:], claimed(t, x, numbered(6000, 10_000)))
	require.Equal(t, more, claimed(t, x, numbered(10_001, 10_300)))
}
