package look

import (
	"context"
	_ "embed" // the description of the interface
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

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
	// maxReading bounds what is read of the requests that have not come whole, in bytes.
	maxReading = 2 * maxBody
	// timeout bounds a look. If Redis does not answer by then, the answer is 503.
	timeout = 10 * time.Second
)

//go:embed openapi.json
var openAPI []byte

// Handler serves looks at Path, and the description of the interface at Description.
func (l *Looker) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	gate := &gate{work: semaphore.NewWeighted(maxBody), reading: semaphore.NewWeighted(maxReading)}
	mux.HandleFunc("GET "+Description, Describe)
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, gate, log) })
	return mux
}

// Describe serves the description of the interface.
func Describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that is gone misses nothing
}

// gate bounds the memory of looks.
type gate struct {
	// bytes of the articles that are looked up, a share of inFlight at least for each request
	work    *semaphore.Weighted
	reading *semaphore.Weighted // bytes that were read
}

var errBusy = errors.New("too many looks are under way")

// look reads a request and looks its articles up. The slot is taken when the request has come: a slow client
// holds none.
func (l *Looker) look(ctx context.Context, body io.Reader, gate *gate) (Answer, error) {
	request := &counted{Reader: body, of: gate.reading}
	defer request.release()
	values, err := split(request)
	if err != nil {
		return Answer{}, err
	}
	share := min(max(request.held, maxBody/inFlight), maxBody)
	if !gate.work.TryAcquire(share) {
		return Answer{}, errBusy
	}
	defer gate.work.Release(share)
	return l.Look(ctx, values)
}

// counted is a request whose bytes hold a share of reading until release.
type counted struct {
	io.Reader
	of   *semaphore.Weighted
	held int64
	busy bool // it got no share: what was read is gone
}

func (c *counted) Read(p []byte) (int, error) {
	if c.busy {
		return 0, errBusy
	}
	n, err := c.Reader.Read(p)
	if c.busy = !c.of.TryAcquire(int64(n)); c.busy {
		return 0, errBusy
	}
	c.held += int64(n)
	return n, err
}

func (c *counted) release() { c.of.Release(c.held) }

func (l *Looker) serve(w http.ResponseWriter, r *http.Request, gate *gate, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	answer, err := l.look(ctx, http.MaxBytesReader(w, r.Body, maxBody), gate)
	var request *requestError
	var large *http.MaxBytesError
	switch {
	case err == nil:
	case errors.As(err, &request):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case errors.As(err, &large):
		http.Error(w, "The request is too large: 8 MiB are taken.", http.StatusRequestEntityTooLarge)
		return
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many looks are under way. Try again in a second.", http.StatusTooManyRequests)
		return
	default: // or the client is gone
		log.Warn("a request to /v1/look was not answered", "err", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The index cannot be read now. The log says why.", http.StatusServiceUnavailable)
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

// split returns the articles of a request: a value of the input topic, a list of them, or several one after
// another. A string stands for a value that is no JSON (input.format text or html). It reads no further than
// one article too many. What is wrong with the request is a *requestError.
func split(request io.Reader) (values [][]byte, err error) {
	r := &reader{decoder: json.NewDecoder(request)}
	for err == nil && len(values) <= Most {
		var value []byte
		if value, err = r.next(); value != nil {
			values = append(values, value)
		}
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), r.inList && errors.Is(err, io.EOF):
		return nil, &requestError{fmt.Sprintf("the request is no JSON: %v", err)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(values) > Most:
		return nil, &requestError{fmt.Sprintf("one request holds at most %d articles", Most)}
	case len(values) == 0:
		return nil, &requestError{
			"the request is empty: send an article as the input topic takes it, or a list of articles"}
	}
	return values, nil
}

// reader reads the values of a request and those of its lists, one after another.
type reader struct {
	decoder *json.Decoder
	inList  bool
}

// next returns nil for a bracket of a list, and io.EOF at the end.
func (r *reader) next() ([]byte, error) {
	if r.inList && !r.decoder.More() {
		r.inList = false
		_, err := r.decoder.Token() // the end of the list, or of the request
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if !r.inList {
		opens, err := r.opensList()
		if opens || err != nil {
			r.inList = opens
			return nil, err
		}
	}
	var value json.RawMessage
	if err := r.decoder.Decode(&value); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		value = []byte(text)
	}
	return value, nil
}

// opensList says whether the next value is a list, and enters it.
func (r *reader) opensList() (bool, error) {
	var first [1]byte
	if !r.decoder.More() {
		return false, nil // Decode says why
	}
	if _, err := r.decoder.Buffered().Read(first[:]); err != nil || first[0] != '[' {
		return false, nil //nolint:nilerr // Decode meets it again
	}
	_, err := r.decoder.Token()
	return err == nil, err
}
