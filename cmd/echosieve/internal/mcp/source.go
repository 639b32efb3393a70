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
	"time"

	"echosieve/app/storylist"
)

// source answers requests for stories. The error says what to do.
type source func(ctx context.Context, path string, body []byte) ([]byte, error)

// open returns a source that answers from a file.
func open(name string) (source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known, err := storylist.FromFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	handler := known.Handler(storylist.Path, slog.New(slog.DiscardHandler))
	return func(ctx context.Context, path string, _ []byte) ([]byte, error) {
		if !strings.HasPrefix(path, storylist.Path) {
			return nil, errors.New("a file has stories only: start mcp with --url to ask about articles")
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return answered(w.Code, w.Body.Bytes())
	}, nil
}

// connect returns a source that asks a service. It does not dial.
func connect(address, tokenFile string) (source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--url wants an address such as http://localhost:9464")
	}
	s := &remote{base: u, tokenFile: tokenFile, client: &http.Client{Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	return s.ask, nil
}

type remote struct {
	base      *url.URL
	tokenFile string
	client    *http.Client
}

const (
	mostRead = 32 << 20         // bytes of an answer of the service
	timeout  = 30 * time.Second // of a request to it
)

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
