package tlsfiles

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/certs"
)

func TestLoad(t *testing.T) {
	off, err := Config{}.Load()
	require.NoError(t, err)
	require.Nil(t, off)

	pair := certs.NewAuthority(t).Server()
	cert, key := pair.Cert, pair.Key
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
