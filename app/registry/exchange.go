package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// answerTimeout bounds one answer with its body.
	answerTimeout = 5 * time.Second
	// mostAnswer bounds the answers of one exchange, in bytes without their compression. Registries take
	// schemas of 1 MB.
	mostAnswer = 2 << 20
	// mostRefusal is what is read of an answer that is no success, in bytes.
	mostRefusal = 4 << 10
	// mostRedirects bounds the redirects that one request follows.
	mostRedirects = 3
)

// exchange is what the answers to the requests of one context have brought.
type exchange struct {
	status int   // of the last answer; 0: none came
	left   int64 // bytes that may still be read
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{left: mostAnswer}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// newHTTP returns a client whose answers are bounded in time and bytes. It follows redirects only to the
// server that was asked, so that no stranger gets the login; any other redirect is an answer.
func newHTTP(files *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if files != nil {
		transport.TLSClientConfig = files
	}
	transport.MaxResponseHeaderBytes, transport.MaxIdleConnsPerHost = 64<<10, mostRequests
	return &http.Client{Transport: bounded{transport}, Timeout: answerTimeout,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			from, to := via[0].URL, next.URL
			same := from.Host == to.Host && from.Scheme == to.Scheme
			secured := from.Hostname() == to.Hostname() && to.Scheme == "https"
			if !same && !secured || len(via) > mostRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		}}
}

// bounded notes and bounds the answers of exchanges.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	if err != nil || x == nil {
		return answer, err
	}
	x.status = answer.StatusCode
	answer.Body = &body{answer.Body, x, answer.StatusCode < http.StatusMultipleChoices, mostRefusal}
	return answer, nil
}

// body is the body of an answer. Of an answer that is no success it is the beginning, and errors count as its end.
type body struct {
	io.ReadCloser
	exchange *exchange
	success  bool
	refusal  int // bytes that are still read if it is no success
}

var errLarge = errors.New("the schema has more than 2 MiB with those that it names")

func (b *body) Read(p []byte) (int, error) {
	if !b.success {
		if b.refusal == 0 {
			return 0, io.EOF
		}
		n, err := b.ReadCloser.Read(p[:min(len(p), b.refusal)])
		if b.refusal -= n; err != nil {
			err = io.EOF
		}
		return n, err
	}
	n, err := b.ReadCloser.Read(p)
	if b.exchange.left -= int64(n); b.exchange.left < 0 {
		return 0, errLarge
	}
	return n, err
}
