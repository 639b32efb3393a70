package docs

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// get returns the status and the body of an answer.
func get(t *testing.T, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// Every link of every page leads to a page, a picture or a heading that the handler serves; no link leads out of Path.
func TestLinksAreServed(t *testing.T) {
	_, list := get(t, Path)
	_, listZH := get(t, Path+"zh/")
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.Len(t, order, len(pages), "each page has its place in the order")
	translated, err := filepath.Glob("zh/*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	followed := 0
	for _, page := range append(pages, translated...) {
		require.Contains(t, list+listZH, `<a href="`+strings.TrimPrefix(page, "zh/")+`">`)
		status, body := get(t, Path+page)
		require.Equal(t, http.StatusOK, status)
		for _, l := range link.FindAllStringSubmatch(body, -1) {
			target, err := url.Parse(l[1])
			require.NoError(t, err)
			if target.IsAbs() {
				continue
			}
			at := (&url.URL{Path: Path + page}).ResolveReference(target)
			require.True(t, strings.HasPrefix(at.Path, Path), "%s links to %s", page, l[1])
			status, text := get(t, at.Path)
			require.Equal(t, http.StatusOK, status, "%s links to %s", page, l[1])
			if target.Fragment != "" {
				require.Contains(t, text, ` id="`+target.Fragment+`"`, "%s links to %s", page, l[1])
			}
			followed++
		}
	}
	require.Greater(t, followed, 80)
}
