package classic

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

func TestNames(t *testing.T) {
	require.Equal(t, []string{"classic-fnv", "classic-python-200", "classic-python-30", "classic-yanyiwu"}, Names())
	_, err := New("classic-md5", nil)
	require.EqualError(t, err,
		`classic: unknown recipe "classic-md5", known: classic-fnv, classic-python-200, classic-python-30, classic-yanyiwu`)
	for _, name := range []string{"classic-python-200", "classic-python-30"} {
		e, err := New(name, nil)
		require.NoError(t, err)
		_, features := e.Fingerprint("北京的天气")
		require.Equal(t, 2, features, "the Python recipes cut by themselves")
	}
}

func TestHostileText(t *testing.T) {
	for _, name := range Names() {
		e := testExtractor(t, name)
		for what, c := range map[string]struct {
			text     string
			features int // -1 = any
		}{
			"empty":             {"", 0},
			"NUL only":          {"\x00\x00", 0},
			"white space":       {" \r\n\u3000\t", 0},
			"invalid UTF-8":     {"\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80", -1},
			"cut character":     {"北京\xe5\x8c", 1},
			"lone continuation": {"北京\x80天气", 2},
			"one word":          {strings.Repeat("经济 ", 100_000), 1},
			"no separator":      {strings.Repeat("经济", 20_000), 1},
			"unknown character": {strings.Repeat("\U00020000", 20_000), -1},
			"never seen by HMM": {strings.Repeat("龘", 20_000), -1},
			"one letter":        {strings.Repeat("a", 100_000), 1},
			"digits":            {strings.Repeat("12345 ", 10_000), 1},
			"percent and dots":  {strings.Repeat("%.", 20_000), -1},
			"combining":         {"e" + strings.Repeat("\u0301", 20_000), -1},
		} {
			fp, features := e.Fingerprint(c.text)
			if c.features >= 0 {
				require.Equal(t, c.features, features, "%s: %s", name, what)
			}
			require.Equal(t, fp == 0, features == 0, "%s: %s", name, what)
		}
	}
}

// Text after a NUL counts, although a C string ends there.
func TestNULIsNoEnd(t *testing.T) {
	for _, name := range Names() {
		e := testExtractor(t, name)
		a, _ := e.Fingerprint("北京天气\x00上海经济")
		b, _ := e.Fingerprint("北京天气\n上海经济")
		require.Equal(t, b, a, name)
	}
}

func TestWeightsMakeTheFingerprint(t *testing.T) {
	for _, name := range Names() {
		e := testExtractor(t, name)
		words := e.Weights(lanxiang)
		fp, features := e.Fingerprint(lanxiang)
		require.Equal(t, Sum(words), fp)
		require.Len(t, words, features)
		var exact []simhash.Feature
		for i, w := range words {
			require.Positive(t, w.Count)
			require.Positive(t, w.IDF)
			require.Equal(t, e.hash(w.Text), w.Hash)
			exact = append(exact, simhash.Feature{Hash: w.Hash, Weight: w.Weight})
			if i > 0 && name != "classic-fnv" {
				require.LessOrEqual(t, w.Weight, words[i-1].Weight)
			}
		}
		require.LessOrEqual(t, simhash.Distance(simhash.Sum(exact), fp), 1, "except where a sum is nearly 0")
	}
}

func TestConcurrentUse(t *testing.T) {
	texts := []string{lanxiang, strings.Repeat(lanxiang, 30), "", "Plain English text about nothing 3.5%"}
	for _, name := range Names() {
		e := testExtractor(t, name)
		var want []simhash.Fingerprint
		for _, text := range texts {
			fp, _ := e.Fingerprint(text)
			want = append(want, fp)
		}
		var workers sync.WaitGroup
		for worker := range 4 {
			workers.Go(func() {
				for i := range 20 {
					at := (worker + i) % len(texts)
					if fp, _ := e.Fingerprint(texts[at]); fp != want[at] {
						t.Errorf("%s: text %d: %s, alone %s", name, at, fp, want[at])
					}
				}
			})
		}
		workers.Wait()
	}
}
