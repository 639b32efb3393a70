package visible

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain text":               "plain text",
		"two  spaces\tand\r\nends": "two spaces and ends",
		"\x1b]0;title\a":           "<U+001B>]0;title<U+0007>",
		"C1 \u009b31m\u0085":       "C1 <U+009B>31m ",
		"\xc2\x9b \x9b":            "<U+009B> \ufffd", // a raw C1 byte is no UTF-8
		"a\u202eb\u2066c\u200fd":   "a<U+202E>b<U+2066>c<U+200F>d",
		"a\u200bb\u2028c\ufeffd":   "a<U+200B>b c<U+FEFF>d",
		"新闻 عربي é 🚢":              "新闻 عربي é 🚢",
		"\U000e0041":               "<U+E0041>", // a tag, invisible
	} {
		require.Equal(t, want, Line(in), "%q", in)
	}
	require.Equal(t, "id  a<U+001B> b, n 7, no <U+0007>", Sprintf("id  %s, n %d, %v", "a\x1b\nb", 7,
		errors.New("no \a")))
}

func TestError(t *testing.T) {
	quoting := fmt.Errorf("topic %s\nFORGED\x1b: %w", "a\nFORGED", errors.New("gone\nFORGED"))
	for want, err := range map[string]error{
		"a\nb": errors.Join(errors.New("a"), errors.New("b")),
		"configuration: a\nb c; see below": fmt.Errorf("configuration: %w; see below",
			errors.Join(errors.New("a"), errors.New("b\nc"))),
		"topic a FORGED FORGED<U+001B>: gone FORGED": quoting,
		"both: a x; b": fmt.Errorf("both: %w; %w", errors.New("a\nx"), errors.New("b")),
		"x\ntopic a FORGED FORGED<U+001B>: gone FORGED": errors.Join(errors.New("x"), quoting),
	} {
		require.Equal(t, want, Error(err))
	}
}

// Whatever is printed, however it is cut into calls, holds nothing hidden but line ends, tabs and colours.
func FuzzWriter(f *testing.F) {
	f.Add("\x1b]0;owned\a \x1b[31mred\x1b[0m \u009b \u202e\r\n新\t", 7)
	f.Add("\xe6\x96", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var whole, parts bytes.Buffer
		_, err := NewWriter(&whole).Write([]byte(text))
		require.NoError(t, err)
		for line := range strings.Lines(whole.String()) {
			for i, r := range line {
				if r == '\x1b' {
					require.Regexp(t, colour, line[i:])
				} else {
					require.True(t, r == '\n' || r == '\t' || !unicode.IsControl(r) && !hidden(r), "%q", line)
				}
			}
		}
		if !utf8.ValidString(text) || strings.Contains(text, "\x1b") { // a sequence that is cut is no colour
			return
		}
		w := NewWriter(&parts)
		at := max(0, min(cut, len(text)))
		for _, part := range []string{text[:at], text[at:]} {
			n, err := w.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		require.Equal(t, whole.String(), parts.String())
		data, err := json.Marshal(map[string]string{"text": text})
		require.NoError(t, err)
		var back map[string]string
		require.NoError(t, json.Unmarshal(JSON(data), &back))
		require.Equal(t, text, back["text"], "programs read the same text")
		require.NotContains(t, Line(string(JSON(data))), "<U+")
	})
}

func TestWriterKeepsColours(t *testing.T) {
	var b bytes.Buffer
	_, err := NewWriter(&b).Write([]byte("\x1b[31mred\x1b[0m\n\x1b[2J\x1b[10;10H"))
	require.NoError(t, err)
	require.Equal(t, "\x1b[31mred\x1b[0m\n<U+001B>[2J<U+001B>[10;10H", b.String())
}

func TestCount(t *testing.T) {
	for want, n := range map[string]int{"0 bits": 0, "1 bit": 1, "2 bits": 2} {
		require.Equal(t, want, Count(n, "bit"))
	}
	require.Equal(t, "2 entries", Count(2, "entry"))
	require.Equal(t, "1 copy", Count(1, "copy"))
}
