package text

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"echosieve/pipeline/segment"
)

// Segmenter cuts texts of any length into words. Safe for concurrent use.
type Segmenter struct {
	cutter *segment.Segmenter
	// plain says that no user word is plain text, so that cutPlain may be used.
	plain bool
}

// maxCut is the most text that the cutter gets at once, in bytes. It takes 30 bytes of memory for each character. Only
// a longer run without a space or a Chinese full stop, which no article has, can be cut within a word.
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

// Cut appends the words of a clean text in any script to dst. Of a long text, words are spilled in between.
func (s *Segmenter) Cut(dst []string, clean string, full Spill) []string {
	done := 0
	for i := 0; i < len(clean); {
		switch c := clean[i]; { // most of any text, without a function call
		case c < utf8.RuneSelf:
			i++
			for i+8 <= len(clean) && binary.LittleEndian.Uint64([]byte(clean[i:i+8]))&nonASCII == 0 {
				i += 8
			}
			continue
		case beginsHan(c):
			i += 3
			continue
		}
		kind, size := scriptOf(clean[i:])
		if kind == cutByJieba {
			i += size
			continue
		}
		start, end := i, i+size
		if kind == cutAtSpaces {
			for start > done && (isLetter(clean[start-1]) || isDigit(clean[start-1])) {
				start--
			}
			end = endOfSpaced(clean, end)
		} else {
			for end < len(clean) {
				k, size := scriptOf(clean[end:])
				if k != cutInPairs {
					break
				}
				end += size
			}
		}
		if start > done {
			dst = s.cut(dst, clean[done:start], full)
		}
		if kind == cutAtSpaces {
			dst = cutSpaced(dst, clean[start:end], full)
		} else {
			dst = cutPairs(dst, clean[start:end], full)
		}
		i, done = end, end
	}
	return s.cut(dst, clean[done:], full)
}

// endOfSpaced returns the end of the text with spaces between its words that continues at i: it ends before
// the next character that is Han or cut in pairs.
func endOfSpaced(clean string, i int) int {
	for i < len(clean) {
		kind, size := scriptOf(clean[i:])
		if kind == cutInPairs || kind == cutByJieba && size == 3 && clean[i] >= 0xe3 {
			return i
		}
		i += size
	}
	return i
}

// cutSpaced appends the words of a text with spaces between them. ASCII is cut like plain text. The rules of
// Unicode keep "l'été" in one piece. Here it is two words, because it is also written with other characters
// than "'", and copies must have the same words.
func cutSpaced(dst []string, text string, full Spill) []string {
	for len(text) > 0 {
		if n := wordField(text); n > 0 {
			dst = full.after(append(dst, text[:n]))
			text = text[n+1:]
			continue
		}
		n, plain := nextField(text)
		field := text[:n]
		text = text[n:]
		if plain {
			dst = cutPlain(dst, field, full)
			continue
		}
		for pieces := words.FromString(field); pieces.Next(); {
			for word := range strings.FieldsFuncSeq(pieces.Value(), func(r rune) bool {
				c := classOf(r)
				return c != classWord && c != classDigit
			}) {
				dst = full.after(append(dst, word))
			}
		}
	}
	return dst
}

// cutPairs appends each pair of neighbouring characters, or the character itself if the text has only one. A
// letter with its marks is one character.
func cutPairs(dst []string, text string, full Spill) []string {
	start := 0 // where the last character begins
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsMark(r) {
				break
			}
			end += size
		}
		before := start
		start = i
		if start > 0 {
			dst = full.after(append(dst, text[before:end]))
		} else if end == len(text) {
			dst = full.after(append(dst, text))
		}
		i = end
	}
	return dst
}

// cut appends the words of a text to dst, in order. Of a long text, words are spilled in between. Fields that are not
// plain go to the cutter, as many in a row together as maxCut allows.
func (s *Segmenter) cut(dst []string, text string, full Spill) []string {
	done := 0 // behind it up to i, all fields are not plain
	for i := 0; i < len(text); {
		if s.plain && done == i {
			if n := wordField(text[i:]); n > 0 {
				dst = full.after(append(dst, text[i:i+n]))
				i += n + 1
				done = i
				continue
			}
		}
		length, plain := nextField(text[i:])
		plain = plain && s.plain
		if plain || i+length-done > maxCut {
			dst = s.cutPieces(dst, text[done:i], full)
			done = i
		}
		if i += length; plain {
			dst = cutPlain(dst, text[done:i], full)
			done = i
		}
	}
	return s.cutPieces(dst, text[done:], full)
}

// cutPieces gives the cutter a text, in pieces if it is longer than maxCut.
func (s *Segmenter) cutPieces(dst []string, text string, full Spill) []string {
	for len(text) > maxCut {
		n := strings.LastIndexAny(text[:maxCut], " \u3002") + 1 // jieba itself separates there
		if n == 0 {
			n = maxCut - utf8.UTFMax
		}
		for !utf8.RuneStart(text[n]) {
			n++
		}
		dst = full.after(s.cutter.Cut(dst, text[:n]))
		text = text[n:]
	}
	if text == "" {
		return dst
	}
	return full.after(s.cutter.Cut(dst, text))
}

// CutRaw appends the words of a text that is not clean to dst, as the cutter cuts them.
func (s *Segmenter) CutRaw(dst []string, text string) []string {
	raw := Segmenter{cutter: s.cutter} // without cutPlain, which needs clean text
	return raw.cut(dst, text, nil)
}

// segmenters holds the segmenters of this process, by user dictionary. They are large.
var segmenters = struct {
	sync.Mutex
	loaded map[[sha256.Size]byte]*Segmenter
}{loaded: map[[sha256.Size]byte]*Segmenter{}}

// LoadSegmenter returns the process's segmenter with a user dictionary, which ReadUserWords has read. Its dictionaries
// stay loaded for the life of the process, once for each user dictionary.
func LoadSegmenter(userWords []byte) (*Segmenter, error) {
	segmenters.Lock()
	defer segmenters.Unlock()
	key := sha256.Sum256(userWords)
	if s := segmenters.loaded[key]; s != nil {
		return s, nil
	}
	words, hasPlain := segmentWords(userWords)
	cut, err := segment.New(words)
	if err != nil {
		return nil, err
	}
	segmenters.loaded[key] = &Segmenter{cutter: cut, plain: !hasPlain}
	return segmenters.loaded[key], nil
}

// segmentWords reads the lines that ReadUserWords makes. plain says that one of the words has plain characters only.
func segmentWords(userWords []byte) (words []segment.Word, plain bool) {
	for line := range strings.Lines(string(userWords)) {
		fields := strings.Fields(line)
		word := segment.Word{Text: fields[0]}
		if len(fields) == 3 {
			word.Frequency, _ = strconv.Atoi(fields[1]) // ReadUserWords has checked it
		}
		_, is := nextField(word.Text)
		words, plain = append(words, word), plain || is
	}
	return words, plain
}

// Plain text is ASCII without '#' and '+', with typographic dashes and quotation marks: nearly all of an English text.
// jieba's dictionary has no lower-case word of such characters only (except "c#" and "c++"), so only its simple rules
// for letters and digits apply, and no cutter is needed, whatever the length of a field.

// nextField returns the length of the text up to and including jieba's next separator, and whether this text is plain.
func nextField(text string) (length int, plain bool) {
	plain = true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			return i + 1, plain
		case c == '#' || c == '+':
			plain = false
		case beginsHan(c):
			plain = false
			i += 2
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
			i += wordLength(text[i:])
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

// wordField returns the length of the first word of a text if only a space follows it in its field, as behind most
// words of English, otherwise 0.
func wordField(text string) int {
	n := wordLength(text)
	if n == len(text) || text[n] != ' ' || !isLetter(text[0]) {
		return 0
	}
	return n
}

// wordLength returns the number of letters and digits that a text begins with. It reads eight bytes at a time: in a
// sum, the highest bit of each byte says whether the byte is at least some value.
func wordLength(text string) (n int) {
	for ; n+8 <= len(text); n += 8 {
		eight := binary.LittleEndian.Uint64([]byte(text[n : n+8]))
		low := eight &^ nonASCII
		letter := (low + (0x80-'a')*eachByte) &^ (low + (0x7f-'z')*eachByte)
		digit := (low + (0x80-'0')*eachByte) &^ (low + (0x7f-'9')*eachByte)
		if other := (eight | ^(letter | digit)) & nonASCII; other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
