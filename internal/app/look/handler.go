package look

import (
	"bytes"
	"context"
	_ "embed" // the description of the interface
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"echosieve/internal/app/visible"
)

// Path is that of a look, and Description that of its OpenAPI description.
const (
	Path        = "/v1/look"
	Description = "/v1/openapi.json"
)

const (
	// inFlight bounds the looks at a time, so that they cannot take the cores and the Redis that the service needs. More get 429.
	inFlight = 4
	// maxBody bounds a request, in bytes.
	maxBody = 8 << 20
	// timeout bounds a look. If Redis does not answer by then, the answer is 503.
	timeout = 10 * time.Second
)

//go:embed openapi.json
var openAPI []byte

// Handler serves looks at Path, and the description of the interface at Description.
func (l *Looker) Handler(log *slog.Logger) http.Handler {
	mux, free := http.NewServeMux(), make(chan struct{}, inFlight)
	mux.HandleFunc("GET "+Description, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // a client that is gone misses nothing
	})
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			l.serve(w, r, log)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many looks are under way. Try again in a second.", http.StatusTooManyRequests)
		}
	})
	return mux
}

func (l *Looker) serve(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	values, err := split(http.MaxBytesReader(w, r.Body, maxBody))
	var answer Answer
	if err == nil {
		answer, err = l.Look(ctx, values)
	}
	if err != nil {
		var request *requestError
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &request):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.As(err, &large):
			http.Error(w, "The request is too large: 8 MiB are taken.", http.StatusRequestEntityTooLarge)
		default: // or the client is gone
			log.Warn("a request to /v1/look was not answered", "err", err)
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The index cannot be read now. The log says why.", http.StatusServiceUnavailable)
		}
		return
	}
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := w.Write(visible.JSON(data)); err != nil {
		log.Debug("answer not written", "err", err)
	}
}

// requestError says what is wrong with a request.
type requestError struct{ Text string }

func (e *requestError) Error() string { return e.Text }

// split returns the articles of a request: a value of the input topic, a list of them, or several one after another. A string stands for a value
// that is no JSON (input.format text or html). What is wrong with the request is a *requestError.
func split(request io.Reader) (values [][]byte, err error) {
	d := json.NewDecoder(request)
	for len(values) <= Most {
		var value json.RawMessage
		if err = d.Decode(&value); err != nil {
			break
		}
		list := []json.RawMessage{value}
		if bytes.HasPrefix(value, []byte("[")) {
			if err = json.Unmarshal(value, &list); err != nil {
				break
			}
		}
		for _, value := range list {
			var text string
			if json.Unmarshal(value, &text) == nil {
				value = []byte(text)
			}
			values = append(values, value)
		}
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &requestError{fmt.Sprintf("the request is no JSON: %v", err)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(values) > Most:
		return nil, &requestError{fmt.Sprintf("one request holds at most %d articles", Most)}
	case len(values) == 0:
		return nil, &requestError{"the request is empty: send an article as the input topic takes it, or a list of articles"}
	}
	return values, nil
}
