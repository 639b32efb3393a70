// Package registry finds the schemas of Avro values: in a schema registry, by the REST interface of
// Confluent's, or in a file.
package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/internal/remote"
	"echosieve/pipeline/decode"
)

// Config says where schemas are.
type Config struct {
	SchemaFile string `setting:"schema_file"`
	Registry   Server `setting:"registry"`
}

// Server says how a schema registry is reached.
type Server struct {
	URLs     []string     `setting:"urls" help:"Addresses of the schema registry, such as http://registry:8081."`
	Username string       `setting:"username" help:"User name."`
	Password string       `setting:"password" secret:"true" help:"password; prefer password_file or the environment."`
	TLS      remote.Files `setting:"tls" help:"Certificates for addresses that begin with https://."`
}

// Encrypted says whether all addresses begin with https://.
func (s Server) Encrypted() bool {
	return !slices.ContainsFunc(s.URLs, func(u string) bool { return !strings.HasPrefix(u, "https://") })
}

// Validate returns the mistakes, each with its key first. used says that values are Avro, framed that they
// have the framing of a registry.
func (c Config) Validate(used, framed bool) error {
	var errs []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	asked := len(c.Registry.URLs) > 0
	add(used && !asked && c.SchemaFile == "", "format: avro needs the schemas: set registry.urls or schema_file")
	add(!used && asked, "registry.urls is of no use: set format to avro, or leave it out (JSON in a registry's "+
		"framing needs none)")
	add(!used && c.SchemaFile != "", "schema_file is of no use: set format to avro, or leave it out")
	add(asked && c.SchemaFile != "", "schema_file and registry.urls exclude each other")
	add(used && asked && !framed,
		"registry.urls needs framing: confluent, which holds the number of each value's schema")
	for _, address := range c.Registry.URLs {
		u, err := url.Parse(address)
		add(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https",
			"registry.urls: an address must be like http://registry:8081 or https://registry")
		add(err == nil && u.User != nil,
			"registry.urls: an address holds a password; use registry.username and registry.password_file")
		add(err == nil && u.Scheme == "http" && c.Registry.TLS != remote.Files{},
			"registry.tls needs addresses with https://, not http://")
	}
	if err := c.Registry.TLS.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("registry.%w", err))
	}
	return errors.Join(errs...)
}

// Open returns the schemas: those of the file, or a *Client. It reads files and connects to no server.
// Without settings it returns nil.
func (c Config) Open() (decode.Schemas, error) {
	switch {
	case c.SchemaFile != "":
		text, err := os.ReadFile(c.SchemaFile)
		if err != nil {
			return nil, fmt.Errorf("input.schema_file: %w", err)
		}
		schema, err := decode.ParseSchema(string(text))
		if err != nil {
			return nil, fmt.Errorf("input.schema_file: %s holds no Avro schema: %w", c.SchemaFile, err)
		}
		return one{schema}, nil
	case len(c.Registry.URLs) == 0:
		return nil, nil
	}
	files, err := c.Registry.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("input.registry.%w", err)
	}
	options := []sr.ClientOpt{sr.URLs(c.Registry.URLs...), sr.UserAgent("echosieve"), sr.HTTPClient(newHTTP(files))}
	if c.Registry.Username != "" || c.Registry.Password != "" {
		options = append(options, sr.BasicAuth(c.Registry.Username, c.Registry.Password))
	}
	server, err := sr.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("input.registry: %w", err)
	}
	return newClient(server), nil
}

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
