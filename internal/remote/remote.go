// Package remote holds what the settings of Kafka, Redis and other servers share: the check of an address, and a
// TLS client configuration from settings that name PEM files.
package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// TLS says whether connections are encrypted, and which certificates are trusted. With the zero value they
// are not encrypted.
type TLS struct {
	Enabled            bool `setting:"enabled" help:"Encrypt connections."`
	Files              `setting:",squash"`
	ServerName         string `setting:"server_name" help:"Name expected in server certificates; empty: the host dialled."`
	InsecureSkipVerify bool   `setting:"insecure_skip_verify" hidden:"true" help:"Accept any certificate; for tests only."`
}

// Files name the certificates of connections.
type Files struct {
	CAFile   string `setting:"ca_file" help:"PEM file of the authorities to trust; empty: the system's."`
	CertFile string `setting:"cert_file" help:"PEM file of the client certificate."`
	KeyFile  string `setting:"key_file" help:"PEM file of the client certificate's key."`
}

// Validate returns the mistakes that can be found without reading the files. Each begins with its key, such
// as "tls.cert_file".
func (c TLS) Validate() error {
	var off error
	if !c.Enabled && c != (TLS{}) {
		off = errors.New("tls has settings but tls.enabled is false")
	}
	return errors.Join(off, c.Files.Validate())
}

// Validate is that of TLS.
func (f Files) Validate() error {
	if (f.CertFile == "") != (f.KeyFile == "") {
		return errors.New("tls.cert_file and tls.key_file belong together")
	}
	return nil
}

// Load reads the files. It returns nil if TLS is off. An error begins with the key of the file.
func (c TLS) Load() (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	loaded, err := c.Files.Load()
	if err == nil {
		loaded.ServerName, loaded.InsecureSkipVerify = c.ServerName, c.InsecureSkipVerify
	}
	return loaded, err
}

// Load reads the files. An error begins with the key of the file.
func (f Files) Load() (*tls.Config, error) {
	loaded := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		loaded.RootCAs = x509.NewCertPool()
		if err := add(loaded.RootCAs, f.CAFile); err != nil {
			return nil, err
		}
	}
	if f.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.cert_file: %w", err)
		}
		loaded.Certificates = []tls.Certificate{cert}
	}
	return loaded, nil
}

// add reads the authorities of a PEM file.
func add(pool *x509.CertPool, caFile string) error {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return fmt.Errorf("tls.ca_file: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("tls.ca_file: %s holds no PEM certificate", caFile)
	}
	return nil
}

// WithSystem returns the authorities of the system and those of a PEM file. An error begins with "tls.ca_file".
func WithSystem(caFile string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	return pool, add(pool, caFile)
}

// CheckAddress returns an error if addr is not host:port. The text of the error ends a sentence that begins with the
// key of the setting. If the port is missing, the error suggests defaultPort. It quotes the address unless
// the address may hold a password.
func CheckAddress(addr, defaultPort string) error {
	if strings.Contains(addr, "@") || strings.Contains(addr, "://") {
		return errors.New("must be host:port, without scheme, user or password")
	}
	host, port, err := net.SplitHostPort(addr)
	if n, notNumber := strconv.ParseUint(port, 10, 16); err == nil && notNumber == nil && n > 0 && host != "" {
		return nil
	}
	if addr != "" && !strings.ContainsAny(addr, ":[]") {
		return fmt.Errorf("has %q without a port; did you mean %s?", addr, net.JoinHostPort(addr, defaultPort))
	}
	return fmt.Errorf("has %q, must be host:port such as localhost:%s or [::1]:%[2]s", addr, defaultPort)
}
