package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"

	"echosieve/internal/app/config"
)

// Ask requests a path of the service that listens on this machine with the same settings: with TLS if it has TLS, and with the token if there is
// one. It does not verify the certificate, which names the host that others call. The caller closes the body.
func Ask(ctx context.Context, cfg config.HTTPConfig, path string) (*http.Response, error) {
	r, err := read(cfg)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // the service listens on all addresses of this machine
	}
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true} // which ignores HTTP_PROXY, unlike http.DefaultTransport
	if r.tls != nil {
		scheme, transport.TLSClientConfig = "https", &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if r.hasToken() {
		token, err := os.ReadFile(cfg.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("http.token_file: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	return (&http.Client{Transport: transport}).Do(request)
}
