package registry

import (
	"crypto/tls"
	"io"
	"net/http"
	"time"
)

const (
	// answerTimeout bounds one answer with its body.
	answerTimeout = 5 * time.Second
	// mostAnswer bounds an answer in bytes without their compression. Registries take schemas of 1 MB.
	mostAnswer = 2 << 20
	// mostRefusal is what is read of an answer that is no success, in bytes.
	mostRefusal = 4 << 10
	// mostRedirects bounds the redirects that one request follows.
	mostRedirects = 3
	// mostRequests bounds the requests at a time.
	mostRequests = 8
)

// newHTTP returns a client whose answers are bounded in time and bytes. It follows redirects only to the
// server that was asked, so that no stranger gets the login; any other redirect is an answer.
func newHTTP(files *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.MaxResponseHeaderBytes = files, 64<<10
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = mostRequests, mostRequests
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true) // a connection of HTTP/2 has requests without a bound
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

// bounded bounds answers: a longer success is an error, and of another one the beginning is read.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		answer.Body = http.MaxBytesReader(nil, answer.Body, mostAnswer)
	} else {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostRefusal), answer.Body}
	}
	return answer, nil
}
