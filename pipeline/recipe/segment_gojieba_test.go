package recipe

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/segment/cppjieba"
	"echosieve/pipeline/text"
)

// Both segmenters make the same index, so that processes with either segmenter can share it. Package segment compares
// the words that they cut.
func TestSegmentersShareAnIndex(t *testing.T) {
	cfg := DefaultConfig()
	cfg.UserDictionary = filepath.Join(t.TempDir(), "user.txt")
	require.NoError(t, os.WriteFile(cfg.UserDictionary, []byte("北京清华 9000000\n的\nat&t 5 nz\n国家队 nz\n"), 0o600))
	native, err := Load(cfg)
	require.NoError(t, err)
	cfg.Segmenter = text.SegmenterGojieba
	gojieba, err := Load(cfg)
	if errors.Is(err, cppjieba.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, gojieba.ID(), native.ID())
	for _, text := range []string{zhArticle, enArticle, zhOther + enOther} {
		want, _ := gojieba.Fingerprint(text, article.Origin{})
		got, _ := native.Fingerprint(text, article.Origin{})
		require.Equal(t, want, got)
	}
}
