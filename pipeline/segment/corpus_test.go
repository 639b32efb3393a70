//go:build cgo

package segment_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpora calls f with titles and texts of the evaluation corpora. They are not part of the project; without
// them it never calls f. The folder is named by ECHOSIEVE_TEST_CORPORA; without it, shared/corpora beside the
// repository is used.
func corpora(t testing.TB, limit int, f func(file, text string)) {
	t.Helper()
	dir := os.Getenv("ECHOSIEVE_TEST_CORPORA")
	if dir == "" {
		dir = "../../../shared/corpora"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Logf("no corpora in %s", dir)
	}
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		unzip, err := gzip.NewReader(file)
		require.NoError(t, err)
		lines := bufio.NewScanner(unzip)
		lines.Buffer(nil, 64<<20)
		for n := 0; n < limit && lines.Scan(); n++ {
			var article struct{ Title, Text string }
			require.NoError(t, json.Unmarshal(lines.Bytes(), &article))
			f(filepath.Base(name), article.Title)
			f(filepath.Base(name), article.Text)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, file.Close())
	}
}
