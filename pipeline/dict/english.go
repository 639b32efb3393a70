//go:build ignore

// This program makes the table of English words:
//
//	go run english.go press-releases.jsonl.gz && zstd --ultra -22 --rm --force idf_en.txt
//
// Its input is articles in JSON Lines with a field "text". Articles with equal texts count once. The inverse
// document frequency of a word is ln(N/n), where n of N articles have the word. It is stretched so that a
// word of only one article is worth as much as an unknown word (pipeline/text/terms.go): Chinese and English
// words then weigh alike. The articles are of one field only, so each value is moved towards that of unknown
// words by the share doubt. Words of fewer than three articles are left out: most are names and mistakes, and
// are worth about as much as unknown words.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"strings"

	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
)

const (
	leastArticles = 3
	unknown       = 11.739 // the average of jieba's table, which unknown words get
	doubt         = 0.3
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run english.go FILE.jsonl.gz")
	}
	counts, n, err := count(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var lines []string
	for word, c := range counts {
		if c >= leastArticles {
			idf := math.Log(float64(n)/float64(c)) * unknown / math.Log(float64(n))
			lines = append(lines, fmt.Sprintf("%s %.3f\n", word, (1-doubt)*idf+doubt*unknown))
		}
	}
	slices.Sort(lines)
	if err := os.WriteFile("idf_en.txt", []byte(strings.Join(lines, "")), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "articles,", len(lines), "words")
}

// count returns in how many of n different articles each English word is.
func count(name string) (counts map[string]int, n int, err error) {
	recipe, err := recipe.Load(recipe.DefaultConfig())
	if err != nil {
		return nil, 0, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	unzip, err := gzip.NewReader(file)
	if err != nil {
		return nil, 0, err
	}
	lines := bufio.NewScanner(unzip)
	lines.Buffer(nil, 16<<20)
	counts = map[string]int{}
	seen := map[article.Digest]bool{}
	for lines.Scan() {
		var line struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, 0, err
		}
		if a, _ := recipe.Fingerprint(line.Text, article.Origin{}); a.Empty || seen[a.Digest] {
			continue
		} else {
			seen[a.Digest] = true
		}
		for _, w := range recipe.Weights(line.Text, article.Origin{}) {
			if strings.Trim(w.Word, "abcdefghijklmnopqrstuvwxyz'") == "" {
				counts[w.Word]++
			}
		}
	}
	return counts, len(seen), lines.Err()
}
