package recipe

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/sample"
)

// TestCases judges the pairs of testdata/cases: inputs of crawlers that were once judged wrongly, and
// controls. Label 1 must be joined, 0 must not, and possible must be that.
func TestCases(t *testing.T) {
	r := testRecipe(t)
	rule := r.Search()
	lists, err := filepath.Glob(filepath.Join("testdata", "cases", "*.pairs.tsv"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		texts := caseTexts(t, strings.TrimSuffix(list, ".pairs.tsv")+".jsonl")
		pairs, err := os.ReadFile(list)
		require.NoError(t, err)
		for line := range strings.Lines(string(pairs)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if fields[0] == "id_a" {
				continue
			}
			t.Run(fields[1], func(t *testing.T) {
				earlier, later := texts[fields[0]].article(r), texts[fields[1]].article(r)
				kind := rule.Compare(&later, &earlier).Kind
				right := map[string]bool{"1": kind.IsCopy(), "0": !kind.IsCopy(), "possible": kind == article.Possible}
				require.True(t, right[fields[2]], "%s", kind)
			})
		}
	}
}

// caseText is an article of a case.
type caseText struct{ ID, Text, Title, Source string }

func (c caseText) article(r *Recipe) article.Article {
	a, _ := r.Fingerprint(c.Text, article.Origin{Publisher: c.Source, Title: c.Title})
	return a
}

// caseTexts reads the articles of a file of cases, or of its compressed form, by id.
func caseTexts(t *testing.T, name string) map[string]caseText {
	var in io.Reader
	file, err := os.Open(name)
	if err != nil {
		file, err = os.Open(name + ".gz")
		require.NoError(t, err)
		in, err = gzip.NewReader(file)
		require.NoError(t, err)
	} else {
		in = file
	}
	defer file.Close()
	texts := map[string]caseText{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var doc caseText
		require.NoError(t, json.Unmarshal(lines.Bytes(), &doc))
		require.NotEmpty(t, doc.Text, doc.ID)
		texts[doc.ID] = doc
	}
	require.NoError(t, lines.Err())
	return texts
}

var update = flag.Bool("update", false, "write testdata/verdicts.txt instead of comparing it")

// neighbours is how many earlier articles of its corpus an article is judged against.
const neighbours = 40

// TestVerdictsAreTheSame compares a digest of what the recipe makes of each article, and of the verdicts
// about neighbouring articles, with those of testdata/verdicts.txt. A change that should change no verdict,
// such as of structure or speed, leaves the file as it is. After any other one: raise the recipe's version,
// and run the test with -update.
//
// The sample is always there, the evaluation corpora only where ECHOSIEVE_TEST_CORPORA names their folder: whoever
// raises the recipe's version has them.
func TestVerdictsAreTheSame(t *testing.T) {
	golden := filepath.Join("testdata", "verdicts.txt")
	file, err := os.ReadFile(golden)
	require.NoError(t, err)
	want := map[string]string{}
	var names []string
	for line := range strings.Lines(string(file)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		names = append(names, name)
		want[name] = rest
	}
	var out strings.Builder
	for _, name := range names {
		texts := corpusTexts(t, name)
		if len(texts) > 0 {
			got := digestOfVerdicts(testRecipe(t), texts)
			if !*update {
				require.Equal(t, want[name], got, "%s: see the comment of the test", name)
			}
			want[name] = got
		}
		fmt.Fprintln(&out, name, want[name])
	}
	require.NotEmpty(t, want["sample"])
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o600))
	}
}

// corpusTexts returns the texts of the sample, or those of a corpus in the folder that ECHOSIEVE_TEST_CORPORA names: none
// without it.
func corpusTexts(t *testing.T, name string) (texts []string) {
	add := func(line []byte) {
		var d struct{ Text string }
		if json.Unmarshal(line, &d) == nil { // the sample has damaged records, too
			texts = append(texts, d.Text)
		}
	}
	if name == "sample" {
		for line := range sample.Lines() {
			add(line)
		}
		return texts
	}
	folder := os.Getenv("ECHOSIEVE_TEST_CORPORA")
	if folder == "" {
		return nil
	}
	file, err := os.Open(filepath.Join(folder, name+".jsonl.gz"))
	require.NoError(t, err)
	defer file.Close()
	unzip, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzip)
	lines.Buffer(nil, 64<<20)
	for len(texts) < 1500 && lines.Scan() {
		add(lines.Bytes())
	}
	require.NoError(t, lines.Err())
	return texts
}

func digestOfVerdicts(r *Recipe, texts []string) string {
	articles, verdicts := sha256.New(), sha256.New()
	search := r.Search()
	made := make([]article.Article, len(texts))
	for i, text := range texts {
		a, _ := r.Fingerprint(text, article.Origin{})
		made[i] = a
		fmt.Fprintf(articles, "%v %x %x %x %d %d %d\n", a.Fingerprint, a.Digest, a.Anchors, a.Signature, a.CleanBytes,
			a.BoilerplateBytes, a.FurnitureBytes)
		for j := max(0, i-neighbours); j < i; j++ {
			fmt.Fprintf(verdicts, "%+v\n", search.Compare(&made[i], &made[j]))
		}
	}
	return fmt.Sprintf("articles %x verdicts %x", articles.Sum(nil)[:8], verdicts.Sum(nil)[:8])
}
