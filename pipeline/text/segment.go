package text

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"echosieve/pipeline/segment"
)

// The segmenters. They cut the same words.
const (
	SegmenterNative  = "native"  // package segment
	SegmenterGojieba = "gojieba" // segment.Gojieba, in programs that were built with cgo
)

// cutter appends the words of a text to dst, as jieba cuts it: along the most probable path through the
// dictionary, and by a hidden Markov model where the dictionary has no word. Safe for concurrent use.
type cutter interface {
	Cut(dst []string, text string) []string
}

// Segmenter cuts texts of any length into words. Safe for concurrent use.
type Segmenter struct {
	cutter cutter
	// plain says that no user word is plain text, so that cutPlain may be used.
	plain bool
}

// maxCut is the most text that a cutter gets at once, in bytes. A cutter takes 30 bytes (native) or 400 bytes
// (gojieba) of memory for each character of the longest run without a separator. Texts are split where jieba
// itself separates, so the words are the same as without the bound. Only a longer run without a separator,
// which no article has, can be cut within a word.
const maxCut = 16 << 10

// spillAt is the number of words at which they are spilled. No ordinary article has as many.
const spillAt = 1 << 14

// Spill takes the words cut so far and returns the slice to which the next words are appended. It may be nil.
// Through it the words of a long text are counted while the text is cut, and are never all in memory at once.
type Spill func(words []string) []string

func (f Spill) after(dst []string) []string {
	if len(dst) >= spillAt && f != nil {
		return f(dst)
	}
	return dst
}

// cut appends the words of a text to dst, in order. Of a long text, words are spilled in between. It takes
// linear time: a field longer than maxCut is scanned once, not once for each of its pieces.
func (s *Segmenter) cut(dst []string, text string, full Spill) []string {
	known := 0 // bytes of the text that belong to a field that is not plain
	for len(text) > 0 {
		n := cutLength(text)
		if n == 0 && known <= 0 {
			field, plain := nextField(text)
			if plain && s.plain {
				dst = cutPlain(dst, text[:field], full)
				text = text[field:]
				continue
			}
			known = field
		}
		if n == 0 {
			n = wholeRunes(text, maxCut)
		}
		dst = full.after(s.cutter.Cut(dst, text[:n]))
		text = text[n:]
		known -= n
	}
	return dst
}

// CutRaw appends the words of a text that is not clean to dst, as the cutter cuts them.
func (s *Segmenter) CutRaw(dst []string, text string) []string {
	raw := Segmenter{cutter: s.cutter} // without cutPlain, which needs clean text
	return raw.cut(dst, text, nil)
}

// cutLength returns the length of the piece of text that is cut next: all of a short text, otherwise up to
// the last of jieba's separators in the next maxCut bytes. It is 0 if there is no separator.
func cutLength(text string) int {
	if len(text) <= maxCut {
		return len(text)
	}
	n := strings.LastIndexAny(text[:maxCut], " \n\u3002") // the separators of jieba that clean texts have
	if n < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(text[n:])
	return n + size
}

// wholeRunes returns the length of the longest beginning of text that has at most n bytes and does not end
// within a character.
func wholeRunes(text string, n int) int {
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// segmenters holds the segmenters of this process, by name and user dictionary. They are large, and gojieba's
// cannot be freed safely.
var segmenters struct {
	sync.Mutex
	loaded map[[sha256.Size]byte]*Segmenter
}

// LoadSegmenter returns the process's segmenter with a name and a user dictionary, which ReadUserWords has
// read. Its dictionaries stay loaded for the life of the process, once for each user dictionary.
func LoadSegmenter(name string, userWords []byte) (*Segmenter, error) {
	segmenters.Lock()
	defer segmenters.Unlock()
	key := sha256.Sum256(append([]byte(name+"\n"), userWords...))
	if s := segmenters.loaded[key]; s != nil {
		return s, nil
	}
	cut, err := newCutter(name, segmentWords(userWords))
	if err != nil {
		return nil, err
	}
	if segmenters.loaded == nil {
		segmenters.loaded = map[[sha256.Size]byte]*Segmenter{}
	}
	segmenters.loaded[key] = &Segmenter{cutter: cut, plain: !hasPlainWord(userWords)}
	return segmenters.loaded[key], nil
}

func newCutter(name string, words []segment.Word) (cutter, error) {
	switch name {
	case SegmenterNative:
		return segment.New(words)
	case SegmenterGojieba:
		return segment.NewGojieba(words)
	}
	return nil, fmt.Errorf("unknown segmenter %q", name)
}

// segmentWords reads the lines that ReadUserWords makes.
func segmentWords(userWords []byte) []segment.Word {
	var words []segment.Word
	for line := range strings.Lines(string(userWords)) {
		word := segment.Word{}
		fields := strings.Fields(line)
		word.Text = fields[0]
		if len(fields) == 3 {
			word.Frequency, _ = strconv.Atoi(fields[1]) // ReadUserWords has checked it
		}
		words = append(words, word)
	}
	return words
}

// Plain text is ASCII without '#' and '+', with typographic dashes and quotation marks. jieba's dictionary
// has no lower-case word of such characters only (except "c#" and "c++"), so only its simple rules for
// letters and digits apply. A run of plain text without a separator that is longer than maxCut is cut here:
// splitting it for a cutter could cut it within a word. Such runs are long web addresses and data that was
// pasted into an article.

// nextField returns the length of the text up to and including jieba's next separator, and whether this text is plain.
func nextField(text string) (length int, plain bool) {
	plain = true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			return i + 1, plain
		case c == '#' || c == '+':
			plain = false
		case c >= 0x80 && plain:
			if !strings.HasPrefix(text[i:], "\u2014"[:2]) || i+2 >= len(text) || text[i+2] < 0x93 || text[i+2] > 0x9d {
				plain = false // not one of U+2013 to U+201D
				continue
			}
			i += 2
		}
	}
	return len(text), plain
}

// cutPlain appends the words of plain text: a letter with the letters and digits that follow, or a digit with the
// digits and full stops that follow. It leaves out all other characters.
func cutPlain(dst []string, text string, full Spill) []string {
	for i := 0; i < len(text); {
		start, c := i, text[i]
		i++
		switch {
		case isLetter(c):
			for i < len(text) && (isLetter(text[i]) || isDigit(text[i])) {
				i++
			}
		case isDigit(c):
			for i < len(text) && (isDigit(text[i]) || text[i] == '.') {
				i++
			}
		default:
			continue
		}
		dst = full.after(append(dst, text[start:i]))
	}
	return dst
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// hasPlainWord tells whether one of the lines "word ..." has a word of plain characters only.
func hasPlainWord(userWords []byte) bool {
	for line := range strings.Lines(string(userWords)) {
		word, _, _ := strings.Cut(line, " ")
		if _, plain := nextField(word); plain {
			return true
		}
	}
	return false
}

// LoadBareCut loads gojieba and returns a function that runs only its Cut over raw texts, on all cores like
// Pipeline.Prepare, and returns the number of words. Benchmarks compare the service with it. In a program
// without cgo the error is segment.ErrNoGojieba.
func LoadBareCut() (func(texts []string) int, error) {
	s, err := LoadSegmenter(SegmenterGojieba, nil)
	if err != nil {
		return nil, err
	}
	return func(texts []string) int {
		var next, words atomic.Int64
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
					words.Add(int64(len(s.cutter.Cut(nil, texts[i]))))
				}
			})
		}
		workers.Wait()
		return int(words.Load())
	}, nil
}
