package newstext

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Doc is an article of a corpus.
type Doc struct{ ID, Text, Cluster string }

// Corpus reads the first articles of one of the evaluation corpora. They are not part of the project; without
// them it returns nothing. The folder is named by ECHOSIEVE_TEST_CORPORA; without it, shared/corpora beside
// the repository is used.
func Corpus(t testing.TB, name string, limit int) []Doc {
	t.Helper()
	file, err := os.Open(filepath.Join(folder(), name+".jsonl.gz"))
	if os.IsNotExist(err) {
		t.Logf("no corpus %s in %s", name, folder())
		return nil
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	unzip, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzip)
	lines.Buffer(nil, 64<<20)
	var docs []Doc
	for len(docs) < limit && lines.Scan() {
		var d Doc
		require.NoError(t, json.Unmarshal(lines.Bytes(), &d))
		docs = append(docs, d)
	}
	require.NoError(t, lines.Err())
	return docs
}

func folder() string { return cmp.Or(os.Getenv("ECHOSIEVE_TEST_CORPORA"), "../../../shared/corpora") }
