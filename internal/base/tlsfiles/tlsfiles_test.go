package tlsfiles

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pair writes a self-signed certificate and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

func TestLoad(t *testing.T) {
	off, err := Config{}.Load()
	require.NoError(t, err)
	require.Nil(t, off)

	cert, key := pair(t)
	c := Config{Enabled: true, CAFile: cert, CertFile: cert, KeyFile: key, ServerName: "kafka"}
	require.NoError(t, c.Validate())
	on, err := c.Load()
	require.NoError(t, err)
	require.Equal(t, "kafka", on.ServerName)
	require.False(t, on.InsecureSkipVerify)
	require.EqualValues(t, tls.VersionTLS12, on.MinVersion)
	require.NotNil(t, on.RootCAs)
	require.Len(t, on.Certificates, 1)

	for want, broken := range map[string]Config{
		"tls.ca_file: " + key: {Enabled: true, CAFile: key},
		"tls.ca_file: open":   {Enabled: true, CAFile: "/does/not/exist"},
		"tls.cert_file":       {Enabled: true, CertFile: key, KeyFile: key},
	} {
		_, err := broken.Load()
		require.ErrorContains(t, err, want)
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	require.ErrorContains(t, Config{CAFile: "x"}.Validate(), "tls.enabled is false")
	require.ErrorContains(t, Config{Enabled: true, KeyFile: "x"}.Validate(), "tls.cert_file")
}
