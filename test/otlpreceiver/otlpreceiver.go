// Package otlpreceiver receives spans by OTLP over HTTP, as a collector of OpenTelemetry does.
package otlpreceiver

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver keeps what it receives. Safe for concurrent use.
type Receiver struct {
	URL string // without path
	// Answer returns the status of a request, and may block. It is set before the first request; nil: 200.
	Answer func(*http.Request) int

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
}

// Start starts a receiver, which ends with the test.
func Start(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{resource: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	message, err := decode(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Answer comes after the body was read: before, the server does not notice that the client has gone.
	if r.Answer != nil {
		if status := r.Answer(request); status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range message.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			r.resource[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

func decode(request *http.Request) (*collector.ExportTraceServiceRequest, error) {
	message := new(collector.ExportTraceServiceRequest)
	data, err := io.ReadAll(request.Body)
	if err == nil {
		err = proto.Unmarshal(data, message)
	}
	return message, err
}

// Spans returns the spans so far.
func (r *Receiver) Spans() []*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*tracepb.Span(nil), r.spans...)
}

// Resource returns the attributes of the sender.
func (r *Receiver) Resource() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.resource)
}
