package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/evidence"
)

// The list of rows in docs/detection.md is that of the code.
func TestRowsOfTheRuleAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "detection.md"))
	require.NoError(t, err)
	var list strings.Builder
	for i, row := range evidence.Rows() {
		verdict := "different"
		if row.Kind != 0 {
			verdict = row.Kind.String()
		}
		fmt.Fprintf(&list, "%d. %s%s: %s, `%s`. *%s.*\n", i+1, strings.ToUpper(row.When[:1]), row.When[1:], verdict, row.Reason, row.Example)
	}
	require.Contains(t, string(page), list.String())
	for _, need := range evidence.Needs() {
		require.Contains(t, string(page), need.With)
	}
}
