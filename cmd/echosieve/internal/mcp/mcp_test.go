package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"echosieve/test/commandtest"
)

const storyLine = `{"root":{"id":"a1","coordinates":"articles/0/1","publisher":"Post","title":"Ferry aground"},` +
	`"copies":2,"near":2,"publishers":2,"by_publisher":[{"name":"Post","copies":0},{"name":"Star","copies":2}],` +
	`"first":{"publisher":"Post"},"first_time":"2026-11-20T12:00:00Z","last_time":"2026-11-20T13:00:00Z",` +
	`"state":"open"}` + "\n"

// called returns a function that calls tools by the SDK's client.
func called(t *testing.T, from source) func(tool string, arguments any) (text string, failed bool) {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := newServer(from).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Wait() })
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
	}
	return func(tool string, arguments any) (string, bool) {
		r, err := client.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		return r.Content[0].(*mcp.TextContent).Text, r.IsError //nolint:forcetypeassert // all are texts
	}
}

func TestFile(t *testing.T) {
	other := strings.NewReplacer("a1", "b2", "articles/0/1", "articles/0/2", "Ferry", "Whale", "Star", "Times")
	from, err := open(commandtest.File(t, "stories.jsonl", storyLine+other.Replace(storyLine)))
	require.NoError(t, err)
	call := called(t, from)
	var a listed
	text, failed := call("stories", map[string]any{"title": "ferry", "limit": 5})
	require.False(t, failed, text)
	require.NoError(t, json.Unmarshal([]byte(text), &a))
	require.Equal(t, 1, a.Matched)
	require.Equal(t, "a1", a.Stories[0].Root.ID)
	text, _ = call("story", map[string]any{"root": "articles/0/2"})
	require.Contains(t, text, "Whale aground")
	text, _ = call("publishers", map[string]any{})
	require.Contains(t, text, `{"name":"Post","stories":2,"first":2}`)
	text, _ = call("changes", map[string]any{"earlier_text": "It sank at 5.", "later_text": "It sank at 6."})
	require.Contains(t, text, `"kind":"correction"`)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		says      string
	}{
		{"story", map[string]any{"root": "none"}, "No story has this root"},
		{"stories", map[string]any{"sort": "size"}, "sort is one of"},
		{"look", map[string]any{"article": map[string]any{"text": "x"}}, "--url"},
		{"explain", map[string]any{"record": "articles/0/1"}, "--url"},
		{"changes", map[string]any{"record": "../metrics"}, "topic/partition/offset"},
		{"changes", map[string]any{"later_text": "It sank."}, "give record, or earlier_text and later_text"},
	} {
		text, failed = call(c.tool, c.arguments)
		require.True(t, failed)
		require.Contains(t, text, c.says)
	}
	_, err = open(commandtest.File(t, "other.jsonl", "{}\n"))
	require.ErrorContains(t, err, "line 1 is no story")
}

func TestService(t *testing.T) {
	token := commandtest.File(t, "token", "secret\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost:
			_, _ = w.Write([]byte(`{"articles":[{"verdict":"near"}]}`))
		case r.URL.Path == "/below/v1/changes/articles/0/1":
			_, _ = w.Write([]byte(`{"changes":{"kind":"extension"}}`))
		case r.URL.EscapedPath() == "/below/v1/stories/a%2Fb%3F":
			_, _ = w.Write([]byte(storyLine))
		default:
			_, _ = w.Write([]byte(`{"stories":[` + strings.Repeat(storyLine+",", 400) + storyLine + `]}`))
		}
	}))
	defer server.Close()
	from, err := connect(server.URL+"/below/", token)
	require.NoError(t, err)
	call := called(t, from)
	text, failed := call("look", map[string]any{"article": map[string]any{"text": "x"}})
	require.False(t, failed, text)
	require.Contains(t, text, "near")
	for _, tool := range []string{"explain", "changes"} {
		text, failed = call(tool, map[string]any{"record": "articles/0/1"})
		require.False(t, failed, text)
		require.Contains(t, text, "extension")
	}
	text, failed = call("story", map[string]any{"root": "a/b?"})
	require.False(t, failed, text)
	text, failed = call("stories", map[string]any{})
	require.True(t, failed)
	require.Contains(t, text, "ask for less")
	none := filepath.Join(t.TempDir(), "none")
	for file, want := range map[string]string{"": "--token-file", none: "--token-file: open"} {
		from, err = connect(server.URL+"/below/", file)
		require.NoError(t, err)
		text, _ = called(t, from)("stories", map[string]any{})
		require.Contains(t, text, want)
	}
	_, err = connect("localhost:9464", "")
	require.ErrorContains(t, err, "http://localhost:9464")
}
