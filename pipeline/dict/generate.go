//go:build ignore

// This program rebuilds the dictionaries from the Go modules they come from. "go generate" runs it and compresses the files.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	jieba := filepath.Join(module("github.com/yanyiwu/gojieba@v1.4.7"), "deps/cppjieba/dict")
	for _, name := range []string{"jieba.dict.utf8", "hmm_model.utf8", "idf.utf8", "stop_words.utf8"} {
		data := read(filepath.Join(jieba, name))
		if strings.HasSuffix(name, "dict.utf8") || name == "idf.utf8" {
			data = columns(data)
		}
		write(name, data)
	}
	opencc := module("github.com/longbridgeapp/opencc@v0.3.13")
	write("ts_characters.txt", firstAlternatives(read(filepath.Join(opencc, "dictionary/TSCharacters.txt"))))
}

// module downloads a module, if need be, and returns its folder.
func module(version string) string {
	out, err := exec.Command("go", "mod", "download", "-json", version).Output()
	if err != nil {
		log.Fatal(err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		log.Fatal(err)
	}
	return m.Dir
}

// firstAlternatives keeps of each line "traditional TAB simplified [simplified...]" the two first characters.
func firstAlternatives(table []byte) []byte {
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && fields[0] != fields[1] {
			out.WriteString(fields[0] + fields[1] + "\n")
		}
	}
	return out.Bytes()
}

// columns returns the first fields of all lines, then all second fields, and so on; package dict makes lines of them again. Each field is
// a line of its own.
func columns(data []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	var out bytes.Buffer
	for column := range bytes.Fields(lines[0]) {
		for _, line := range lines {
			out.Write(bytes.Split(line, []byte(" "))[column])
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return data
}

func write(name string, data []byte) {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		log.Fatal(err)
	}
}
