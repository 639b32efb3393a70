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
	"echosieve/pipeline/lookup"
	"echosieve/sample"
	"echosieve/simhash"
)

// judgeTexts returns the judgement of a later article on an earlier one.
func judgeTexts(r *Recipe, earlier, later string) article.Judgement {
	x, _ := r.Fingerprint(earlier, article.Origin{})
	y, _ := r.Fingerprint(later, article.Origin{})
	search := r.Search()
	return search.Compare(&y, &x)
}

// A later version of a report has more text, and other numbers where the version is numbered.
func TestVersions(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ first, second, whole string }{
		"en": {"(1st lead, 14:05) LARKFIELD, 3 May - ", "(2nd lead, 16:40) LARKFIELD, 4 May - ", enArticle + "\n" +
			enOther},
		"zh": {"（第1稿）本社青溪5月3日电 ", "（第2稿）本社青溪5月4日电 ", zhArticle + zhOther},
	} {
		part := []rune(c.whole)[:len([]rune(c.whole))*2/3]
		j := judgeTexts(r, c.first+string(part), c.second+c.whole)
		require.Equal(t, article.Near, j.Kind, "%s: %s", name, j.Reason)
		require.Equal(t, article.Extends, j.Relation, name)
		require.Equal(t, article.Near, judgeTexts(r, c.first+c.whole, c.second+c.whole).Kind, name)
	}
}

// Beyond 12 bits an article and its copy must share the values of two blocks, or an anchor, and beyond 21
// bits no articles are candidates. Without anchors only max_distance counts.
func TestReach(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	plan := lookup.New(search, 0)
	whole, _ := r.Fingerprint(zhArticle+zhOther, article.Origin{})
	part, _ := r.Fingerprint(zhArticle, article.Origin{})
	// of the lists of one block, of two blocks, of one block and of an anchor
	for bits, want := range map[int][3]article.Kind{
		12: {article.Near, article.Near, article.Near}, 13: {0, article.Near, article.Near},
		21: {0, article.Near, article.Near}, 22: {0, 0, 0},
	} {
		for lists, kind := range want {
			part.Fingerprint = whole.Fingerprint
			// of the three blocks, which begin at bits 0, 22 and 43: the last stays equal, and if wanted the second
			differ := 2
			if lists == 1 {
				differ = 1
			}
			for bit := range bits {
				part.Fingerprint ^= 1 << (63 - 22*(bit%differ) - bit/differ)
			}
			anchor := uint64(lists/2) << 63 // the first anchor of both, or not
			whole.Anchors, part.Anchors = []uint64{1 << 63, 5 << 60}, []uint64{3 << 62, 7 << 61, 3 << 61, anchor}
			j := plan.Judge(&search.Rule, &part, &whole)
			require.Equal(t, kind, j.Kind, "%d bits, lists %d", bits, lists)
			require.Equal(t, kind == 0, j.Reason == article.ReasonDistance)
			if lists != 1 {
				require.Equal(t, want[0], plan.Judge(&search.Rule, &whole, &part).Kind,
					"the part is not stored under its fourth anchor")
			}
		}
	}
	for name, c := range map[string]struct {
		change        func(*Config)
		block, anchor int
	}{
		"news":             {func(*Config) {}, 12, 21},
		"news, 25 bits":    {func(c *Config) { c.MaxDistance = 25 }, 12, 25},
		"news, 10 bits":    {func(c *Config) { c.MaxDistance = 10 }, 10, 10},
		"news, no anchors": {func(c *Config) { c.Anchors = 0 }, 21, 21},
		"classic":          {func(c *Config) { c.Name = Names()[1] }, 3, 3},
		"classic, 20 bits": {func(c *Config) { c.Name, c.MaxDistance = Names()[1], 20 }, 20, 20},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		plan := lookup.New(cfg.Search(), 0)
		require.Equal(t, c.block, plan.Reach(0), name)
		require.Equal(t, c.anchor, plan.Reach(plan.Layout.Count), name)
	}
}

// A scan of a page is a copy of it. Every 25th letter is misread, so one word in five is damaged.
func TestScannedText(t *testing.T) {
	r := testRecipe(t)
	misread := strings.NewReplacer("e", "c", "a", "o", "t", "f", "n", "ri", "m", "rn", "d", "cl", "h", "b", "u", "ii",
		"w", "vv", "i", "l")
	text := enArticle + "\n" + enOther
	var scan strings.Builder
	for i, letter := range strings.Split(text, "") {
		if i%25 == 0 {
			letter = misread.Replace(letter)
		}
		scan.WriteString(letter)
	}
	require.Equal(t, article.Near, judgeTexts(r, scan.String(), text).Kind)
	a, _ := r.Fingerprint(text, article.Origin{})
	b, _ := r.Fingerprint(scan.String(), article.Origin{})
	require.LessOrEqual(t, simhash.Distance(a.Fingerprint, b.Fingerprint), 4)
}

// One publisher's placeholder is no article: each headline above it is one. A long text under another title is a copy.
func TestPlaceholder(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	for _, stub := range []string{
		"Watch the video", "点击查看原文视频，更多精彩内容请下载海滨日报客户端。",
		"<p>This is a breaking news story. It will be updated as more information becomes available.</p>",
	} {
		judge := func(text, publisher, title string) article.Kind {
			a, _ := r.Fingerprint(text, article.Origin{Publisher: "Sentinel", Title: "Ferry to Sallen stops", URL: "h/1"})
			b, _ := r.Fingerprint(text, article.Origin{Publisher: publisher, Title: title, URL: "h/2"})
			return search.Compare(&b, &a).Kind
		}
		require.False(t, judge(stub, "Sentinel", "Bakery wins its case").IsCopy(), stub)
		require.Equal(t, article.Exact, judge(stub, "Sentinel", "Ferry to Sallen stops!"), stub)
		require.Equal(t, article.Exact, judge(stub, "Courier", "Ferry to Sallen stops"), stub)
		require.Equal(t, article.Exact, judge(enArticle, "Sentinel", "Bakery wins its case"))
	}
	short, _ := r.Fingerprint(enArticle[:300], article.Origin{Publisher: "Sentinel", Title: "Ferry to Sallen stops"})
	other, _ := r.Fingerprint(enArticle[:300], article.Origin{Publisher: "Courier", Title: "No more ferries"})
	require.Equal(t, article.Near, search.Compare(&other, &short).Kind, "another site's headline")
}

// A marked correction is one whatever the figures say: two values in sixteen look alike, and not each is sampled.
func TestMarkedCorrection(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	from := article.Origin{Publisher: "Sentinel", Title: "Storm"}
	for dead := 10; dead < 60; dead++ {
		a, _ := r.Fingerprint(fmt.Sprintf("%s The storm killed %d people.", enArticle, dead), from)
		from := from
		from.Title = "CORRECTED: Storm"
		b, _ := r.Fingerprint(fmt.Sprintf("%s The storm killed %d people.", enArticle, dead+9), from)
		j := search.Compare(&b, &a)
		require.True(t, !j.Kind.IsCopy() || j.Corrects && j.Relation == article.Revises, "%d: %+v", dead, j)
		from.Publisher = "Courier"
		b, _ = r.Fingerprint(fmt.Sprintf("%s The storm killed %d people.", enArticle, dead+9), from)
		j = search.Compare(&b, &a)
		require.False(t, j.Corrects || j.Relation == article.Revises, "a stranger's figure: %+v", j)
	}
}

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

// corpusTexts returns the texts of the sample, or those of a corpus in the folder that ECHOSIEVE_TEST_CORPORA names:
// none without it.
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
			a.RepeatedBytes, a.FurnitureBytes)
		for j := max(0, i-neighbours); j < i; j++ {
			fmt.Fprintf(verdicts, "%+v\n", search.Compare(&made[i], &made[j]))
		}
	}
	return fmt.Sprintf("articles %x verdicts %x", articles.Sum(nil)[:8], verdicts.Sum(nil)[:8])
}
