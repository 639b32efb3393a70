package decode

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/record"
)

func TestWhatIsNoJSONSaysWhatItLooksLike(t *testing.T) {
	cfg := DefaultConfig()
	for _, c := range []struct{ value, detail string }{
		{"\x00\x00\x00\x01\x2c{\"text\":\"x\"}", "schema id 300"},
		{"\x1f\x8b\x08\x00\x00", "gzip"},
		{"\x28\xb5\x2f\xfd\x04", "zstd"},
		{"\x04\x22\x4d\x18", "lz4"},
		{"Obj\x01\x04", "Avro"},
		{"\xff\xfe{\x00", "UTF-16"},
		{"\xfe\xff\x00{", "UTF-16"},
		{"\x00{\x00\"", "UTF-16"},
		{"{\x00\"\x00", "UTF-16"},
		{"\xef\xbb\xbf{}", "byte order mark"},
		{"<html>", "input.format"},
		{`{"text":"abc","score":NaN}`, `at byte 22: "NaN}"`},
		{`{"text": "abc", "n":NaN}`, `at byte 20: "NaN}"`},
		{`{"text":"x",}`, "at byte 12"},
		{`{'text':'x'}`, "at byte 1"},
		{"{\"text\":\"a\nb\"}", "at byte 10"},
		{`{"text":"cut`, "cut off after 12 bytes"},
		{`["x"]`, `it is "[\"x\"]"`},
		{` "x"`, `it is "\"x\""`},
		{"", "empty"},
		{"a headline", "at byte 0"},
		{`{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "deeper than 1000"},
	} {
		_, reject := cfg.Decode(recordOf(c.value))
		require.NotNil(t, reject, "%q", c.value)
		require.Equal(t, record.NotJSON, reject.Reason, "%q", c.value)
		require.Contains(t, reject.Detail, c.detail, "%q", c.value)
		require.LessOrEqual(t, len(reject.Detail), 256)
	}
}

func TestTextInAnotherEncodingIsADeadLetter(t *testing.T) {
	latin1 := "Der B\xfcrgermeister er\xf6ffnete die neue Br\xfccke \xfcber den Flu\xdf."
	gbk := "\xb8\xdb\xce\xf1\xbe\xd6\xd7\xf2\xc8\xd5\xd0\xfb\xb2\xbc\xa3\xac\xd0\xc2\xb5\xc4\xbc\xaf\xd7\xb0\xcf\xe4\xc2\xeb\xcd\xb7\xa1\xa3"
	cyrillic := "\xcd\xee\xe2\xfb\xe9 \xec\xee\xf1\xf2 \xf7\xe5\xf0\xe5\xe7 \xf0\xe5\xea\xf3 " +
		"\xee\xf2\xea\xf0\xfb\xeb\xe8 \xe2\xf7\xe5\xf0\xe0"
	cut := strings.Repeat("港务局昨日宣布", 5)
	cut = cut[:len(cut)-1]
	var wide []byte
	for _, u := range utf16.Encode([]rune("\ufeffThe board voted.")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	for _, c := range []struct{ text, guess string }{
		{latin1, "latin1"}, {"caf\xe9", "latin1"}, {gbk, "GBK"}, {cyrillic, "windows-1251"},
		{cut, "UTF-8 with damaged"}, {string(wide), "UTF-16"},
	} {
		for _, cfg := range []Config{DefaultConfig(), {Format: FormatText}, {Format: FormatHTML}} {
			value := c.text
			if cfg.Format == FormatJSON {
				if c.guess == "UTF-16" {
					continue // its zero bytes make it no JSON
				}
				value = `{"id":"a1","text":"` + c.text + `"}`
			}
			content, reject := cfg.Decode(recordOf(value))
			require.NotNil(t, reject, "%q", value)
			require.Equal(t, record.NotUTF8, reject.Reason, "%q", value)
			require.Contains(t, reject.Detail, c.guess, "%q", value)
			require.NotEmpty(t, content.ID)
		}
	}
	// A byte in a field that is not used harms nobody.
	cfg := DefaultConfig()
	_, reject := cfg.Decode(recordOf("{\"text\":\"x\",\"footer\":\"\xfc\"}"))
	require.Nil(t, reject)
	// Bytes of GBK can be those of JSON's syntax.
	_, reject = cfg.Decode(recordOf("{\"text\":\"\x95\x5c\"}"))
	require.Equal(t, record.NotUTF8, reject.Reason)
}
