package recipe

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/limits"
	"echosieve/pipeline/record"
	"echosieve/pipeline/text"
	"echosieve/simhash"
	"echosieve/test/newstext"
)

func TestGoldenArticles(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ text, simhash, digest string }{
		"zh":    {zhArticle, "710c80b2e9dba930", "978a711517564953fe491bb360a2b207"},
		"en":    {enArticle, "24a3e2cdcd84f65c", "6ba49ac9fe157ddd44afcb60b48c97f3"},
		"mixed": {zhArticle + enArticle, "31a882a0cd99ac70", "1f1bacbc68812010ecaaa344d424acb3"},
		"page":  {zhMenu + zhArticle + zhFooter, "710c80b2e9dba930", "11d6ccf18df97f6f57d683ae6007b03b"},
		"Greek": {languageText(t, "el"), "5c267546950c53d3", "f257b7dfb50a7cadbe04e8b4f43053e3"},
		"Thai":  {languageText(t, "th"), "2d20d546ed29be1c", "8316d1e47055ea7b0286875def97355c"},
		"flash": {"快讯：央行下调利率25个基点", "06af9d29c55781e5", "b5d832807b290d8300a5ea97927ebc76"},
	} {
		a, _ := r.Fingerprint(c.text, article.Origin{})
		const advice = "fingerprints changed: raise newsVersion, then these values"
		require.Equal(t, c.simhash, a.SimHash.String(), "%s: %s", name, advice)
		require.Equal(t, c.digest, hex.EncodeToString(a.Digest[:]), "%s: %s", name, advice)
	}
	require.Equal(t, "news-10-95762027", r.ID())
}

// The index finds exact copies by fingerprint. Where punctuation moves the end of a word, the fingerprints
// differ, so the digests must differ as well.
func TestEqualDigestsMeanEqualFingerprints(t *testing.T) {
	r := testRecipe(t)
	a, _ := r.Fingerprint(zhArticle+"研究生命起源", article.Origin{})
	b, _ := r.Fingerprint(zhArticle+"研究生，命起源", article.Origin{})
	require.Equal(t, normalised(text.Clean("研究生命起源")), normalised(text.Clean("研究生，命起源")))
	require.NotEqual(t, a.Fingerprint, b.Fingerprint)
	require.NotEqual(t, a.Digest, b.Digest)
}

func TestLittleText(t *testing.T) {
	r := testRecipe(t)
	a, _ := r.Fingerprint("快讯：沪指收涨1.5%", article.Origin{})
	b, _ := r.Fingerprint("快讯：沪指收涨15%", article.Origin{})
	same, _ := r.Fingerprint("<b>快讯</b>：沪指收涨1.5%", article.Origin{})
	require.True(t, a.LittleText)
	require.NotEqual(t, a.Digest, b.Digest)
	require.NotEqual(t, a.Fingerprint, b.Fingerprint)
	require.Equal(t, same.Fingerprint, a.Fingerprint)
	require.Equal(t, hex.EncodeToString(a.Digest[:8]), a.Fingerprint.String())
	require.NotEqual(t, a.Fingerprint, a.SimHash)

	flash, _ := r.Fingerprint("快讯：沪指收涨1.5%，创业板指跌幅扩大", article.Origin{})
	require.False(t, flash.LittleText)
	require.Equal(t, flash.SimHash, flash.Fingerprint)
	require.Len(t, flash.Signature, evidence.Size)

	long, _ := r.Fingerprint(zhArticle, article.Origin{})
	require.False(t, long.LittleText)
	require.Equal(t, long.SimHash, long.Fingerprint)
	require.Equal(t, len(text.Clean(zhArticle)), long.CleanBytes)
	require.Equal(t, len(r.Weights(zhArticle, article.Origin{})), long.Features)
}

func TestEmptyText(t *testing.T) {
	r := testRecipe(t)
	for _, text := range []string{"", " \n", "<p>&nbsp;</p>", "<script>x</script>", "\x00\u200b", "!!! —— …",
		"😀"} {
		a, _ := r.Fingerprint(text, article.Origin{})
		require.True(t, a.Empty, "%q", text)
		require.True(t, a.LittleText)
		require.Empty(t, r.Weights(text, article.Origin{}))
	}
	a, _ := r.Fingerprint("的", article.Origin{}) // a stop word is no feature, but it is text
	require.False(t, a.Empty)
	require.Zero(t, a.SimHash)
}

func TestWeightsMakeTheFingerprint(t *testing.T) {
	r := testRecipe(t)
	words := r.Weights(zhArticle, article.Origin{})
	var features []simhash.Feature
	for i, w := range words {
		require.Equal(t, simhash.Hash(w.Word), w.Hash)
		if i > 0 {
			require.LessOrEqual(t, w.Weight, words[i-1].Weight)
		}
		features = append(features, simhash.Feature{Hash: w.Hash, Weight: w.Weight})
	}
	a, _ := r.Fingerprint(zhArticle, article.Origin{})
	require.Equal(t, a.SimHash, simhash.Sum(features))
}

func TestRecipeConfig(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	for want, breakIt := range map[string]func(*Config){
		`unknown recipe "gossip", known: news, classic-fnv`: func(c *Config) { c.Name = "gossip" },
		"max_distance is -2": func(c *Config) { c.MaxDistance = -2 },
		"max_distance is 33": func(c *Config) { c.MaxDistance = 33 },
		"blocks is -1":       func(c *Config) { c.Blocks = -1 },
		"blocks is 17":       func(c *Config) { c.Blocks = 17 },
		"probes is -2":       func(c *Config) { c.Probes = -2 },
		"probes is 64":       func(c *Config) { c.Probes = 64 },
		"anchors is -2":      func(c *Config) { c.Anchors = -2 },
		"anchors is 9":       func(c *Config) { c.Anchors = 9 },
		"near is 1.1":        func(c *Config) { c.Thresholds.Near = 1.1 },
	} {
		cfg := DefaultConfig()
		breakIt(&cfg)
		require.ErrorContains(t, cfg.Validate(), want)
		_, err := Load(cfg)
		require.ErrorContains(t, err, want)
	}
	for _, breakIt := range []func(*Config){
		func(c *Config) { c.UserDictionary = "/nonexistent" },
		func(c *Config) { c.StopWords = "/nonexistent" },
	} {
		cfg := DefaultConfig()
		breakIt(&cfg)
		_, err := Load(cfg)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestRecipeID(t *testing.T) {
	r := testRecipe(t)
	require.Equal(t, r.ID(), testRecipe(t).ID())
	seen := map[string]bool{r.ID(): true}
	for _, change := range []func(*Config){
		func(c *Config) { c.MaxDistance = 15 },
		func(c *Config) { c.Blocks = 5 },
		func(c *Config) { c.Thresholds.Values = .5 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		changed, err := Load(cfg)
		require.NoError(t, err)
		require.Same(t, r.segmenter, changed.segmenter, "the dictionaries are loaded once")
		require.False(t, seen[changed.ID()])
		seen[changed.ID()] = true
	}
	numbers := limits.All()
	numbers[len(numbers)-1]++
	id, err := recipeID(DefaultConfig().resolved(), nil, nil, numbers, evidence.Format())
	require.NoError(t, err)
	require.False(t, seen[id], "another limit is another recipe")
	seen[id] = true
	id, err = recipeID(DefaultConfig().resolved(), nil, nil, limits.All(), evidence.Format()+" near/other")
	require.NoError(t, err)
	require.False(t, seen[id], "another row is another recipe")
}

func TestConcurrentUse(t *testing.T) {
	r := testRecipe(t)
	texts := []string{zhArticle, enArticle, zhArticle + enArticle, "快讯", "", strings.Repeat(enArticle, 40),
		newstext.Page(zhArticle, 1), newstext.Page(enOther, 2)}
	want := make([]article.Article, len(texts))
	for i, text := range texts {
		want[i], _ = r.Fingerprint(text, article.Origin{})
	}
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := range 60 {
				at := (w + i) % len(texts)
				got, _ := r.Fingerprint(texts[at], article.Origin{})
				if !reflect.DeepEqual(got, want[at]) {
					t.Errorf("text %d: %+v, alone %+v", at, got, want[at])
				}
				r.Weights(texts[at], article.Origin{})
			}
		})
	}
	workers.Go(func() {
		if again, err := Load(DefaultConfig()); err != nil || again.ID() != r.ID() {
			t.Errorf("loading again: %v", err)
		}
	})
	workers.Wait()
}

var (
	zhArticle, enArticle = newstext.Zh, newstext.En
	zhOther, enOther     = newstext.ZhOther, newstext.EnOther
	zhMenu, zhFooter     = newstext.ZhMenu, newstext.ZhFooter
)

func normalised(clean string) string { return string(text.AppendNormalised(nil, clean)) }

// testRecipe returns the default recipe. Its dictionaries are loaded once for all tests.
func testRecipe(t testing.TB) *Recipe {
	t.Helper()
	r, err := Load(DefaultConfig())
	require.NoError(t, err)
	return r
}

func TestUserWordsCount(t *testing.T) {
	dir := t.TempDir()
	cfg := DefaultConfig()
	cfg.UserDictionary, cfg.StopWords = filepath.Join(dir, "user.txt"), filepath.Join(dir, "stop.txt")
	require.NoError(t, os.WriteFile(cfg.UserDictionary, []byte("牛肉丸子汤面\nat&t 5 nz\n"), 0o600))
	require.NoError(t, os.WriteFile(cfg.StopWords, []byte("北京\n"), 0o600))
	r, err := Load(cfg)
	require.NoError(t, err)
	require.NotEqual(t, testRecipe(t).ID(), r.ID())

	var words []string
	for _, w := range r.Weights("AT&T在北京吃牛肉丸子湯麵", article.Origin{}) {
		words = append(words, w.Word)
	}
	require.ElementsMatch(t, []string{"at&t", "牛肉丸子汤面"}, words)
	base, _ := testRecipe(t).Fingerprint("AT&T在北京吃牛肉丸子湯麵", article.Origin{})
	other, _ := r.Fingerprint("AT&T在北京吃牛肉丸子湯麵", article.Origin{})
	require.NotEqual(t, base.SimHash, other.SimHash)
}

// The classic recipes fingerprint the raw text, have max_distance + 1 blocks, and judge by the distance alone.
func TestClassicRecipes(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range classic.Names() {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Name, cfg.MaxDistance = name, 5
			r, err := Load(cfg)
			require.NoError(t, err)
			require.Regexp(t, "^"+name+"-2-[0-9a-f]{8}$", r.ID())
			require.False(t, ids[r.ID()])
			ids[r.ID()] = true

			search := r.Search()
			require.Equal(t, 6, search.Blocks)
			require.Zero(t, search.Probes)
			require.Nil(t, search.Check)

			extractor, err := classic.New(name, r.segmenter.CutRaw)
			require.NoError(t, err)
			a, _ := r.Fingerprint(zhArticle, article.Origin{})
			want, features := extractor.Fingerprint(zhArticle)
			require.Equal(t, want, a.Fingerprint)
			require.Equal(t, features, a.Features)
			require.Nil(t, a.Signature)
			require.Len(t, r.Weights(zhArticle, article.Origin{}), features)
			for bit, sum := range a.Sums {
				if sum > 1e6 || sum < -1e6 { // the originals round differently where a sum is nearly 0
					require.Equal(t, sum > 0, a.SimHash>>bit&1 == 1)
				}
			}
			same, _ := r.Fingerprint(zhArticle, article.Origin{})
			require.Equal(t, article.Judgement{Kind: article.Exact, Reason: article.ReasonDigest,
				Likeness: article.SameText}, search.Compare(&a, &same))
			other, _ := r.Fingerprint(enArticle, article.Origin{})
			require.Equal(t, article.Judgement{Reason: article.ReasonDistance}, search.Compare(&a, &other))
			empty, _ := r.Fingerprint("", article.Origin{})
			require.True(t, empty.Empty)
		})
	}
}

func addTexts(f *testing.F) {
	for _, text := range []string{
		"", zhArticle, enArticle, "<p>a&lt;b&gt;<EED></p><!--", "&amp;amp;lt;p&gt;", "\xff\x00e\u0301…",
		"ＧＤＰ３．５％", "臺灣", "<script>x", "İﬁ①℃\uf907\U0002f800", "c++ 9.. a1 #",
	} {
		f.Add(text)
	}
}

func FuzzFingerprint(f *testing.F) {
	r := testRecipe(f)
	addTexts(f)
	f.Fuzz(func(t *testing.T, raw string) {
		a, _ := r.Fingerprint(raw, article.Origin{})
		again, _ := r.Fingerprint(raw, article.Origin{})
		if !reflect.DeepEqual(a, again) {
			t.Fatalf("%+v, then %+v", a, again)
		}
		normalised := normalised(text.Clean(raw))
		if !utf8.ValidString(normalised) || a.Empty != (a.TooCostly || normalised == "") || a.Features > 0 && a.Empty {
			t.Fatalf("normalised %q, article %+v", normalised, a)
		}
		if marked, _ := r.Fingerprint(strings.Join([]string{"<div>", "</div>"}, raw),
			article.Origin{}); !strings.ContainsAny(raw, "<&") && marked.TooCostly == a.TooCostly &&
			marked.Digest != a.Digest {
			t.Fatalf("wrapped in markup: %+v, bare %+v", marked, a)
		}
	})
}

// A text of characters that stand for whole words is too costly; some of them in a text are not. A page with 400 open
// elements around each paragraph is read as text, and says so.
func TestCostlyTexts(t *testing.T) {
	r, err := Load(DefaultConfig())
	require.NoError(t, err)
	few := strings.Repeat("\ufdfa ", 30)
	for text, want := range map[string]article.Article{
		strings.Repeat("\ufdfa ", 1000):                     {Empty: true, TooCostly: true},
		few + strings.Repeat("the quay opens again. ", 100): {},
		"<!doctype html>" + strings.Repeat("<q>", 450) +
			strings.Repeat("<p>the quay opens again. ", 1000): {CostlyPage: true},
	} {
		a, _ := r.Fingerprint(text, article.Origin{})
		require.Equal(t, want, article.Article{Empty: a.Empty, TooCostly: a.TooCostly, CostlyPage: a.CostlyPage}, text[:30])
	}
	reject := record.NoArticle(&article.Article{Empty: true, TooCostly: true})
	require.Equal(t, record.TooCostly, reject.Reason)
}
