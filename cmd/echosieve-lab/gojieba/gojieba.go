//go:build cgo

package gojieba

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yanyiwu/gojieba"

	"echosieve/pipeline/dict"
	"echosieve/pipeline/segment"
)

// Cutter cuts texts with the embedded dictionaries. It is safe for concurrent use. It takes over 100 MB of memory and
// is never freed, because gojieba's instances cannot be freed safely while texts are being cut.
type Cutter struct{ jieba *gojieba.Jieba }

// New loads the dictionaries and the words of a user dictionary, which takes about a second. gojieba (1.4.7)
// panics if a dictionary is missing, ends the process at a line that it cannot read, and reads only files. So
// New writes the embedded dictionaries into a temporary folder, for which TMPDIR must be writable, and
// removes the folder after loading. Words must not be empty or hold white space.
func New(words []segment.Word) (s *Cutter, err error) {
	dir, err := os.MkdirTemp("", "echosieve-dict-")
	if err != nil {
		return nil, temporaryError(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if strings.ContainsAny(dir, "|;") {
		return nil, temporaryError(fmt.Errorf("the path %s holds '|' or ';', which separate paths in jieba", dir))
	}
	// gojieba's keyword extraction is not used; its two dictionaries must exist and hold an entry.
	files := []struct {
		name string
		data []byte
	}{{dict.Words, nil}, {dict.HMM, nil}, {"user", userLines(words)}, {"idf", []byte("a 1\n")}, {"stop", []byte("a\n")}}
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
	return &Cutter{jieba: gojieba.NewJieba(paths...)}, nil
}

// userLines writes words as lines "word frequency tag", or "word tag" if there is no frequency.
func userLines(words []segment.Word) []byte {
	var lines []byte
	for _, w := range words {
		if w.Frequency == 0 {
			lines = fmt.Appendf(lines, "%s x\n", w.Text)
		} else {
			lines = fmt.Appendf(lines, "%s %d x\n", w.Text, w.Frequency)
		}
	}
	return lines
}

// Cut appends the words of a text to dst, in order.
func (s *Cutter) Cut(dst []string, text string) []string {
	return append(dst, s.jieba.Cut(text, true)...)
}

func temporaryError(err error) error {
	return fmt.Errorf("unpack dictionaries (about 6 MB, set TMPDIR to a folder with room that can be written): %w", err)
}
