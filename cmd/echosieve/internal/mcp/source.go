package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"

	"echosieve/app/storylist"
)

// source answers requests for stories. The error says what to do.
type source interface {
	ask(ctx context.Context, path string, body []byte) ([]byte, error)
}

type local struct{ handler http.Handler }

func newLocal(list *storylist.List) *local {
	return &local{list.Handler(storylist.Path, slog.New(slog.DiscardHandler))}
}

func (l *local) ask(ctx context.Context, path string, _ []byte) ([]byte, error) {
	if !strings.HasPrefix(path, storylist.Path) {
		return nil, errors.New("a file has stories only: start mcp with --url to ask about articles")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	return answered(w.Code, w.Body.Bytes())
}

type remote struct {
	base      *url.URL
	tokenFile string
	client    *http.Client
}

// mostRead bounds an answer of the service, in bytes.
const mostRead = 32 << 20

func (s *remote) ask(ctx context.Context, path string, body []byte) ([]byte, error) {
	method, to := http.MethodGet, *s.base
	if body != nil {
		method = http.MethodPost
	}
	path, to.RawQuery, _ = strings.Cut(path, "?")
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	to.Path, to.RawPath = strings.TrimSuffix(to.Path, "/")+decoded, strings.TrimSuffix(to.EscapedPath(), "/")+path
	r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.tokenFile != "" {
		token, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: is the service running, and is --url its http.listen?", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostRead))
	if err != nil {
		return nil, err
	}
	return answered(answer.StatusCode, text)
}

// answered returns an answer, or its error with the remedy.
func answered(status int, text []byte) ([]byte, error) {
	const most = 500
	switch status {
	case http.StatusOK:
		return text, nil
	case http.StatusUnauthorized:
		return nil, errors.New("the service wants a login: start mcp with --token-file, or with a name and a password " +
			"in --url")
	}
	return nil, fmt.Errorf("%d: %s", status, bytes.TrimSpace(text[:min(len(text), most)]))
}
