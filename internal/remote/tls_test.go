package remote

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/certs"
)

func TestLoad(t *testing.T) {
	off, err := TLS{}.Load()
	require.NoError(t, err)
	require.Nil(t, off)

	pair := certs.NewAuthority(t).Server()
	cert, key := pair.Cert, pair.Key
	c := TLS{Enabled: true, Files: Files{cert, cert, key}, ServerName: "kafka"}
	require.NoError(t, c.Validate())
	on, err := c.Load()
	require.NoError(t, err)
	require.Equal(t, "kafka", on.ServerName)
	require.False(t, on.InsecureSkipVerify)
	require.EqualValues(t, tls.VersionTLS12, on.MinVersion)
	require.NotNil(t, on.RootCAs)
	require.Len(t, on.Certificates, 1)

	for want, broken := range map[string]Files{
		"tls.ca_file: " + key: {CAFile: key},
		"tls.ca_file: open":   {CAFile: "/does/not/exist"},
		"tls.cert_file":       {CertFile: key, KeyFile: key},
	} {
		_, err := broken.Load()
		require.ErrorContains(t, err, want)
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, TLS{}.Validate())
	require.ErrorContains(t, TLS{Files: Files{CAFile: "x"}}.Validate(), "tls.enabled is false")
	require.ErrorContains(t, TLS{Enabled: true, Files: Files{KeyFile: "x"}}.Validate(), "tls.cert_file")
}
