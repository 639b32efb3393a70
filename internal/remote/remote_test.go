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

func TestCheckAddress(t *testing.T) {
	for _, addr := range []string{"localhost:6379", "10.0.0.1:1", "[::1]:6379", "redis.example:65535"} {
		require.NoError(t, CheckAddress(addr, "6379"), addr)
	}
	for addr, want := range map[string]string{
		"localhost":                `has "localhost" without a port; did you mean localhost:6379?`,
		"":                         `has "", must be host:port such as localhost:6379 or [::1]:6379`,
		":6379":                    `has ":6379", must be`,
		"localhost:":               `has "localhost:", must be`,
		"localhost:0":              `has "localhost:0", must be`,
		"localhost:redis":          `has "localhost:redis", must be`,
		"localhost:70000":          `has "localhost:70000", must be`,
		"::1":                      `has "::1", must be`,
		"redis://u:hunter2@host:1": "must be host:port, without scheme, user or password",
		"u:hunter2@host":           "must be host:port, without scheme, user or password",
	} {
		err := CheckAddress(addr, "6379")
		require.ErrorContains(t, err, want, addr)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
