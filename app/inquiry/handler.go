package inquiry

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the description of the interface
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"echosieve/app/visible"
)

// Path is that of a look, and Description that of its OpenAPI description.
const (
	Path        = "/v1/look"
	Description = "/v1/openapi.json"
)

const (
	// inFlight bounds the looks at a time, so that they cannot take the cores and the Redis that the service
	// needs. More get 429.
	inFlight = 4
	// maxBody bounds a request, and the requests that are looked up at a time together, in bytes. An article
	// takes many times its size.
	maxBody = 8 << 20
	// maxReading bounds the requests that are read at a time together, in bytes.
	maxReading = 2 * maxBody
	// timeout bounds a look. If Redis does not answer by then, the answer is 503.
	timeout = 10 * time.Second
)

//go:embed openapi.json
var openAPI []byte

// Handler serves looks at Path, and the description of the interface at Description.
func (l *Looker) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Description, Describe)
	mux.HandleFunc("POST "+Path, handle("The index cannot be read now.", log, l.look))
	return mux
}

// Describe serves the description of the interface.
func Describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that is gone misses nothing
}

// refusal is an answer that says what is wrong with a request, or that it comes too early.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

var errBusy = &refusal{http.StatusTooManyRequests, "Too many requests are under way. Try again in a second."}

func wrong(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// look reads a request and looks its articles up. The place among the looks is taken when the request has come: a slow
// client holds none.
func (l *Looker) look(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, wrong("%q is no parameter: "+Path+" takes none; an article is the body of the request",
			r.URL.RawQuery)
	}
	announced := r.ContentLength
	if announced < 0 || announced > maxBody {
		announced = maxBody
	}
	if !l.reading.TryAcquire(announced) {
		return nil, errBusy
	}
	defer l.reading.Release(announced)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "The request is too large: 8 MiB are taken."}
	}
	if err != nil {
		return nil, err
	}
	values, err := split(body)
	if err != nil {
		return nil, err
	}
	share := max(int64(len(body)), maxBody/inFlight)
	if !l.working.TryAcquire(share) {
		return nil, errBusy
	}
	defer l.working.Release(share)
	return l.Look(r.Context(), values)
}

// handle serves what answer returns, as JSON. answer has until timeout. Its error is a *refusal, or stands in the log,
// and the client reads what has failed.
func handle(failed string, log *slog.Logger,
	answer func(w http.ResponseWriter, r *http.Request) (any, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		a, err := answer(w, r.WithContext(ctx))
		if err == nil {
			visible.Answer(w, http.StatusOK, a, log)
			return
		}
		var refused *refusal
		if !errors.As(err, &refused) { // or the client is gone
			log.Warn("a request was not answered", "path", r.URL.Path, "err", err)
			w.Header().Set("Retry-After", "5")
			refused = &refusal{http.StatusServiceUnavailable, failed + " The log says why."}
		} else if refused == errBusy {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, refused.text, refused.status)
	}
}

// split returns the articles of a request: values of the input topic, one after another or as one list. A string stands
// for a value that is no JSON (input.format text or html). It builds no more than one article too many. The error is a
// *refusal.
func split(request []byte) (values [][]byte, err error) {
	d := json.NewDecoder(bytes.NewReader(request))
	isList := bytes.HasPrefix(bytes.TrimLeft(request, " \t\r\n"), []byte("["))
	if isList {
		_, err = d.Token()
	}
	for err == nil && d.More() {
		if len(values) == MostLooked {
			return nil, wrong("one request holds at most %d articles", MostLooked)
		}
		var value json.RawMessage
		var text string
		if err = d.Decode(&value); err == nil && json.Unmarshal(value, &text) == nil {
			value = []byte(text)
		}
		values = append(values, value)
	}
	if err == nil && isList {
		_, err = d.Token() // the end of the list
	}
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) && len(values) > 0 {
			return values, nil
		}
	}
	if len(values) == 0 && (isList || errors.Is(err, io.EOF)) {
		return nil, wrong("the request is empty: send an article as the input topic takes it, or a list of articles")
	}
	return nil, wrong("the request is no JSON: %v", cmp.Or(err, errors.New("nothing may follow the end of a list")))
}
