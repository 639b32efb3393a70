package recipe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

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
