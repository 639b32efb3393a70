package recipe

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/internal/hostiletext"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/segment/cppjieba"
	"echosieve/pipeline/text"
)

// withGojieba loads a recipe with both segmenters. It skips the test in a program without gojieba.
func withGojieba(t *testing.T, cfg Config) (native, gojieba *Recipe) {
	t.Helper()
	native, err := Load(cfg)
	require.NoError(t, err)
	cfg.Segmenter = text.SegmenterGojieba
	gojieba, err = Load(cfg)
	if errors.Is(err, cppjieba.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return native, gojieba
}

// Both segmenters make the same articles, so that processes with either segmenter can share an index.
func TestSegmentersMakeTheSameArticles(t *testing.T) {
	dir := t.TempDir()
	user := DefaultConfig()
	user.UserDictionary = filepath.Join(dir, "user.txt")
	require.NoError(t, os.WriteFile(user.UserDictionary, []byte("北京清华 9000000\n的\nat&t 5 nz\n国家队 nz\n"), 0o600))
	for name, cfg := range map[string]Config{"news": DefaultConfig(), "news with a user dictionary": user} {
		t.Run(name, func(t *testing.T) { requireSameArticles(t, cfg) })
	}
	for _, name := range classic.Names() {
		cfg := DefaultConfig()
		cfg.Name = name
		t.Run(name, func(t *testing.T) { requireSameArticles(t, cfg) })
	}
}

func requireSameArticles(t *testing.T, cfg Config) {
	native, gojieba := withGojieba(t, cfg)
	require.Equal(t, gojieba.ID(), native.ID())
	texts := append([]string{zhArticle, enArticle}, newstext.Plain...)
	for _, text := range hostiletext.Of(40_000) {
		texts = append(texts, text)
	}
	for _, corpusName := range []string{"bench_zh", "bench_en"} {
		for _, d := range newstext.Corpus(t, corpusName, 50) {
			texts = append(texts, d.Text)
		}
	}
	for _, text := range texts {
		want, _ := gojieba.Fingerprint(text, article.Origin{})
		got, _ := native.Fingerprint(text, article.Origin{})
		require.Equal(t, want, got, text[:min(len(text), 200)])
	}
}
