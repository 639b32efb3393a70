package pipeline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yanyiwu/gojieba"

	"echosieve/pipeline/dict"
)

// maxCut bounds what jieba is given at once, in bytes: it takes some 400 bytes of memory per character of the
// longest run without a separator. Within the bound texts are cut where jieba itself separates, so that the
// words are the same; only a longer run, which no article has, can lose a word at the seam.
const maxCut = 16 << 10

// segmenter cuts clean text into words with jieba: the most probable path through the dictionary, a hidden Markov
// model for what the dictionary lacks. Safe for concurrent use.
type segmenter struct {
	jieba *gojieba.Jieba
	// plain says that no user word is plain text, so that such text can be cut here.
	plain bool
}

// spillAt is the number of words from which on they are spilled: no ordinary article has as many.
const spillAt = 1 << 14

// spill takes the words cut so far and returns the slice to append the next ones to. It may be nil.
type spill func(words []string) []string

func (f spill) append(dst []string, words ...string) []string {
	dst = append(dst, words...)
	if len(dst) >= spillAt && f != nil {
		return f(dst)
	}
	return dst
}

// cut appends the words of a clean text to dst, in order. Punctuation and white space may be among them or not. Those of a long
// text are spilled in between, so that they never are in memory all at once.
func (s *segmenter) cut(dst []string, clean string, full spill) []string {
	if !s.plain {
		return s.cutAny(dst, clean, full)
	}
	done, run := 0, 0 // what is cut; where the run of plain fields began
	for i := 0; i < len(clean); {
		n, plain := nextField(clean[i:])
		if !plain {
			if i-run >= minPlainRun {
				dst = cutPlain(s.cutAny(dst, clean[done:run], full), clean[run:i], full)
				done = i
			}
			run = i + n
		}
		i += n
	}
	if len(clean)-run < minPlainRun {
		return s.cutAny(dst, clean[done:], full)
	}
	return cutPlain(s.cutAny(dst, clean[done:run], full), clean[run:], full)
}

// cutAny appends the words of any clean text as jieba cuts it.
func (s *segmenter) cutAny(dst []string, clean string, full spill) []string {
	for len(clean) > 0 {
		n := cutLength(clean)
		dst = full.append(dst, s.jieba.Cut(clean[:n], true)...)
		clean = clean[n:]
	}
	return dst
}

// cutLength is the length of the piece of text that is cut next: at most maxCut, and at the end of a character.
func cutLength(text string) int {
	if len(text) <= maxCut {
		return len(text)
	}
	n := strings.LastIndexAny(text[:maxCut], " \n\u3002") // jieba's separators, as far as they survive cleaning
	if n > 0 {
		_, size := utf8.DecodeRuneInString(text[n:])
		return n + size
	}
	n = maxCut
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// segmenters holds the instances of this process, by the hash of their user dictionary. One takes well over
// 100 MB and most of a second, and gojieba's are never safe to free while texts are being cut: they stay.
var segmenters struct {
	sync.Mutex
	byUserWords map[[sha256.Size]byte]*segmenter
}

// loadSegmenter returns the process's segmenter for a user dictionary as made by parseUserWords.
func loadSegmenter(userWords []byte) (*segmenter, error) {
	segmenters.Lock()
	defer segmenters.Unlock()
	key := sha256.Sum256(userWords)
	if s := segmenters.byUserWords[key]; s != nil {
		return s, nil
	}
	s, err := newSegmenter(userWords)
	if err != nil {
		return nil, err
	}
	if segmenters.byUserWords == nil {
		segmenters.byUserWords = map[[sha256.Size]byte]*segmenter{}
	}
	segmenters.byUserWords[key] = s
	return s, nil
}

// newSegmenter writes the dictionaries into a temporary folder, as jieba reads nothing but files, and removes
// them once they are loaded.
func newSegmenter(userWords []byte) (s *segmenter, err error) {
	dir, err := os.MkdirTemp("", "echosieve-dict-")
	if err != nil {
		return nil, temporaryError(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if strings.ContainsAny(dir, "|;") {
		return nil, temporaryError(fmt.Errorf("the path %s holds '|' or ';', which separate paths in jieba", dir))
	}
	// jieba's keyword extraction is not used; its two dictionaries must exist and hold an entry.
	files := []struct {
		name string
		data []byte
	}{{dict.Words, nil}, {dict.HMM, nil}, {"user", userWords}, {"idf", []byte("a 1\n")}, {"stop", []byte("a\n")}}
	var paths []string
	for _, f := range files {
		if f.name == dict.Words || f.name == dict.HMM {
			if f.data, err = dict.Read(f.name); err != nil {
				return nil, err
			}
		}
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return nil, temporaryError(err)
		}
		paths = append(paths, path)
	}
	return &segmenter{jieba: gojieba.NewJieba(paths...), plain: !hasPlainWord(userWords)}, nil
}

func temporaryError(err error) error {
	return fmt.Errorf("unpack dictionaries (about 6 MB, set TMPDIR to a folder with room that can be written): %w", err)
}
