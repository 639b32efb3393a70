// Package certs makes certificate authorities and certificates for tests of TLS.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates that are valid for an hour.
type Authority struct {
	File string // its own certificate, PEM

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair names the PEM files of a certificate.
type Pair struct {
	Cert, Key string
	Store     string // key and certificate in one file: the form that Kafka reads
}

// NewAuthority returns an authority. The files of its certificates are deleted at the end of the test.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t), cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}}
	a.File = filepath.Join(t.TempDir(), "ca.pem")
	write(t, a.File, encode("CERTIFICATE", a.sign(a.cert, a.key)))
	return a
}

// Server returns a certificate for the host name localhost, not for 127.0.0.1.
func (a *Authority) Server() Pair {
	return a.server(time.Now().Add(time.Hour))
}

// ServerOn returns a certificate for localhost and an address.
func (a *Authority) ServerOn(ip string) Pair {
	return a.server(time.Now().Add(time.Hour), net.ParseIP(ip))
}

// Expired is ServerOn with a certificate that expired a minute ago.
func (a *Authority) Expired(ip string) Pair {
	return a.server(time.Now().Add(-time.Minute), net.ParseIP(ip))
}

func (a *Authority) server(end time.Time, ips ...net.IP) Pair {
	return a.pair(&x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: ips,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotAfter: end,
	})
}

// Client returns a client certificate.
func (a *Authority) Client(name string) Pair {
	return a.pair(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter: time.Now().Add(time.Hour),
	})
}

func (a *Authority) pair(template *x509.Certificate) Pair {
	a.t.Helper()
	key := newKey(a.t)
	template.NotBefore = time.Now().Add(-time.Hour)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	dir := a.t.TempDir()
	p := Pair{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		Store: filepath.Join(dir, "store.pem")}
	certPEM, keyPEM := encode("CERTIFICATE", a.sign(template, key)), encode("PRIVATE KEY", pkcs8)
	write(a.t, p.Cert, certPEM)
	write(a.t, p.Key, keyPEM)
	write(a.t, p.Store, append(keyPEM, certPEM...))
	return p
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	return der
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
