package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/evidence"
)

var update = flag.Bool("update", false, "write the lists of docs/detection.md instead of comparing them")

// The lists of rows and needs in docs/detection.md are those of the code. With -update, the test writes them.
func TestRuleIsDocumented(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "detection.md")
	page, err := os.ReadFile(name)
	require.NoError(t, err)
	text := string(page)
	var rows, needs strings.Builder
	for i, row := range evidence.Rows() {
		verdict := "different"
		if row.Kind != 0 {
			verdict = row.Kind.String()
		}
		turn := ""
		if row.Turn != "" {
			turn = "; " + row.Turn
		}
		rows.WriteString(wrapped(fmt.Sprintf("%d. %s%s: %s, `%s`%s. *%s.*", i+1, strings.ToUpper(row.When[:1]),
			row.When[1:], verdict, row.Reason, turn, row.Example)))
	}
	for _, need := range evidence.Needs() {
		setting := ""
		if need.Setting != "" {
			setting = fmt.Sprintf(" (`%s`)", strings.TrimPrefix(need.Setting, "detection."))
		}
		needs.WriteString(wrapped(fmt.Sprintf("- %.2f%s: %s", need.Default(), setting, need.With)))
	}
	for name, list := range map[string]string{"rows": rows.String(), "needs": needs.String()} {
		before, rest, found := strings.Cut(text, "<!-- "+name+" -->\n\n")
		_, after, closed := strings.Cut(rest, "\n<!-- end -->")
		require.True(t, found && closed, name)
		if want := before + "<!-- " + name + " -->\n\n" + list + "\n<!-- end -->" + after; *update {
			text = want
		} else {
			require.Equal(t, want, text, "go test ./test/docs -run TestRuleIsDocumented -update writes the list")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

// wrapped returns the item of a list in lines of at most columns.
func wrapped(item string) string {
	words := strings.Fields(item)
	lines, line := "", words[0]
	for _, word := range words[1:] {
		if utf8.RuneCountInString(line+" "+word) > columns {
			lines, line = lines+line+"\n", strings.Repeat(" ", len(words[0]))
		}
		line += " " + word
	}
	return lines + line + "\n"
}
