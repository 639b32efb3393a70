package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP, as protobuf, one request at a time. OpenTelemetry's own client for HTTP,
// otlptracehttp v1.47.0, imports gRPC and makes the program 11 MB larger. What a receiver does not take is not sent
// again: the next spans are as good.
type client struct {
	http     *http.Client
	settings settings
}

var _ otlptrace.Client = (*client)(nil)

func newClient(s settings) (*client, error) {
	tls, err := s.tls.Load()
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE, CLIENT_CERTIFICATE or CLIENT_KEY: %w", err)
	}
	return &client{settings: s, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: tls, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		// The headers of the settings may be keys: they go to no other server than that of the settings.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Start implements otlptrace.Client. It connects to nothing.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// OTLP's request and TracesData have the same bytes; opentelemetry/proto/trace/v1/trace.proto promises
	// that. The type of the request lies in a package that imports gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.endpoint.String(),
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range c.settings.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// a connection is used again if its response was read
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 == 2 {
		return nil
	}
	return fmt.Errorf("the receiver answered %s", response.Status)
}
