package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"echosieve/test/repo"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// README repeats figures that other pages own: each row of its table of costs is a row of docs/benchmarks.md,
// and the recall, the false positives and the recall of plain SimHash are those measured in
// docs/detection.md.
func TestFiguresOfREADME(t *testing.T) {
	readme := repo.Read(t, "README.md")
	table := repo.Between(t, readme, "\n| | measured |\n|---|---|\n", "\n\n")
	benchmarks := repo.Read(t, "docs/benchmarks.md")
	for costs := range strings.SplitSeq(table, "\n") {
		require.Contains(t, benchmarks, "\n"+costs+"\n")
	}

	rates := regexp.MustCompile(`1?\.\d+ / 1?\.\d+`)
	// Without intervals in brackets: "news  .988 (.983-.992) / .980 (.976-.984)  .010 / .008".
	detection := regexp.MustCompile(` \([^)\n]*\)`).ReplaceAllString(repo.Read(t, "docs/detection.md"), "")
	measured := func(recipe string) []string {
		row := regexp.MustCompile(`(?m)^\W*` + recipe + `\W* .*$`).FindString(detection)
		require.NotEmpty(t, row, recipe)
		return rates.FindAllString(row, -1)
	}
	stated := rates.FindAllString(repo.Between(t, readme, "\n## What it catches\n", "\n## "), -1)
	require.Len(t, stated, 3)
	require.Equal(t, measured("news")[:2], stated[:2])
	require.Equal(t, measured("classic-python-200")[0], stated[2])
}

var (
	// A rate or a pair of rates, such as .990 / .979.
	rate = regexp.MustCompile(`1?\.\d{2,3}( / 1?\.\d{2,3})?`)
	// A setting, or a header of an output, in backquotes.
	named = regexp.MustCompile(
		"`((?:kafka|redis|input|output|http|policy|detection|log|shadow)\\.[a-z_.]+|echosieve-[a-z-]+)[`:]")
	// The beginning of a section.
	section = regexp.MustCompile(`(?m)^##+ `)
)

// A page in Chinese says nothing that its page in English does not say: each of its commands, rates, settings
// and headers stands there. Those that are translated whole have as many sections, too, and the same
// commands.
func TestChinesePagesAgree(t *testing.T) {
	whole := map[string]bool{"README.zh-CN.md": true, "docs/zh/from-simhash.md": true}
	translated, err := fs.Glob(os.DirFS(repo.Root(t)), "docs/zh/*.md")
	require.NoError(t, err)
	for _, page := range append(translated, "README.zh-CN.md") {
		original := strings.ReplaceAll(strings.ReplaceAll(page, "docs/zh/", "docs/"), ".zh-CN", "")
		zh, en := repo.Read(t, page), repo.Read(t, original)
		english := commandsOf(t, original)
		for _, command := range commandsOf(t, page) {
			assert.Contains(t, english, command, page)
		}
		for _, pattern := range []*regexp.Regexp{rate, named} {
			for _, found := range pattern.FindAllString(zh, -1) {
				assert.Contains(t, en, strings.TrimRight(found, "`:"), page)
			}
		}
		if whole[page] {
			assert.ElementsMatch(t, english, commandsOf(t, page), page)
			assert.Len(t, section.FindAllString(zh, -1), len(section.FindAllString(en, -1)), page)
		}
	}
}
