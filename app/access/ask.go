package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"echosieve/app/config"
)

// Ask requests a path of the service that listens on this machine with the same settings. If the listener has
// TLS, it must show the certificate of the settings. The token is sent to an Echosieve that asks for it only:
// another program may hold the port. The caller closes the body.
func Ask(ctx context.Context, cfg config.HTTPConfig, path string) (*http.Response, error) {
	r, _, err := readFiles(cfg, nil)
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
	// which ignores HTTP_PROXY, unlike http.DefaultTransport
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if r.cert != nil {
		scheme, transport.TLSClientConfig = "https", onlyOurs(r.cert.Certificate[0])
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(request)
	if err != nil || !r.hasToken() || !WantsLogin(answer) {
		return answer, err
	}
	_ = answer.Body.Close()
	token, err := os.ReadFile(cfg.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("http.token_file: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	return client.Do(request)
}

// WantsLogin says whether an Echosieve asks for a login.
func WantsLogin(answer *http.Response) bool {
	return answer.StatusCode == http.StatusUnauthorized &&
		strings.Contains(strings.Join(answer.Header.Values("WWW-Authenticate"), ", "), Realm)
}

// onlyOurs accepts the certificate alone that the listener has. Its names are those by which others call.
func onlyOurs(certificate []byte) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, certificate) {
				return errors.New("the listener shows another certificate than that of http.config_file")
			}
			return nil
		}}
}
