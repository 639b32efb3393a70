package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/repo"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// A path of this repository in backquotes, without a placeholder.
	mdPath = regexp.MustCompile(
		"`((?:cmd|consumer|deploy|docs|internal|pipeline|redisindex|sample|simhash|test)/[a-zA-Z0-9_./-]*)`")
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents returns the paths of all pages, from the root of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/zh/*.md"} {
		found, err := fs.Glob(os.DirFS(repo.Root(t)), pattern)
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	require.Contains(t, pages, "README.md")
	return pages
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		found = append(found, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return found
}

// Links between pages lead to files and headings that exist, and so do the paths that pages name.
func TestLinks(t *testing.T) {
	for _, page := range documents(t) {
		text := repo.Read(t, page)
		for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, hasAnchor := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			content, err := os.ReadFile(filepath.Join(repo.Root(t), target))
			if !assert.NoError(t, err, "link %s of %s", m[1], page) || !hasAnchor {
				continue
			}
			assert.True(t, slices.Contains(anchors(string(content)), anchor),
				"%s links to %s, which has no such heading", page, m[1])
		}
		for _, m := range mdPath.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(repo.Root(t), m[1]))
			assert.NoError(t, err, "path of %s", page)
		}
	}
}
