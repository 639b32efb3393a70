package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/internal/base/tlsfiles"
	"echosieve/test/certs"
)

// Each way in which a handshake fails is recognised, because each has another remedy.
func TestTLSFaultOf(t *testing.T) {
	mine, other := certs.NewAuthority(t), certs.NewAuthority(t)
	good := load(t, mine.ServerOn("127.0.0.1"))
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(mine.File)
	require.NoError(t, err)
	require.True(t, pool.AppendCertsFromPEM(pem))
	trusting := tlsfiles.Config{Enabled: true, CAFile: mine.File}
	for name, c := range map[string]struct {
		server *tls.Config // nil: one without TLS
		client tlsfiles.Config
		want   tlsFault
	}{
		"all well": {&tls.Config{Certificates: good}, trusting, noFault},
		"untrusted": {&tls.Config{Certificates: good}, tlsfiles.Config{Enabled: true, CAFile: other.File},
			untrusted},
		"other name": {&tls.Config{Certificates: good}, tlsfiles.Config{Enabled: true, CAFile: mine.File,
			ServerName: "elsewhere"}, otherName},
		"expired": {&tls.Config{Certificates: load(t, mine.Expired("127.0.0.1"))}, trusting, expired},
		"TLS 1.1": {&tls.Config{Certificates: good, MinVersion: tls.VersionTLS10,
			MaxVersion: tls.VersionTLS11}, trusting, tooOld},
		"TLS 1.2": {&tls.Config{Certificates: good, MaxVersion: tls.VersionTLS12}, trusting, noFault},
		"plain":   {nil, trusting, notTLS},
		"no client": {&tls.Config{Certificates: good, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: pool}, trusting, refused},
		"not verified": {&tls.Config{Certificates: good}, tlsfiles.Config{Enabled: true, CAFile: other.File,
			InsecureSkipVerify: true}, noFault},
		"expired, ditto": {&tls.Config{Certificates: load(t, mine.Expired("127.0.0.1"))},
			tlsfiles.Config{Enabled: true, InsecureSkipVerify: true}, noFault},
	} {
		t.Run(name, func(t *testing.T) {
			err := dial(t, serve(t, c.server), c.client)
			require.Equal(t, c.want, tlsFaultOf(err), "%v", err)
			require.Equal(t, c.want == noFault, err == nil, "%v", err)
			if p := broker.Explain(err); c.want != noFault {
				require.True(t, p.Permanent, "%v", p)
				require.NotEmpty(t, p.Remedy)
			}
		})
	}
	require.Equal(t, noFault, tlsFaultOf(errors.New("something else")))
}

func load(t *testing.T, p certs.Pair) []tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	require.NoError(t, err)
	return []tls.Certificate{cert}
}

// serve answers one byte to everybody who gets that far.
func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Write([]byte("-ERR what?\r\n"))
				_, _ = conn.Read(make([]byte, 1<<16)) // closing with data unread would be a reset
			}()
		}
	}()
	return l.Addr().String()
}

// dial connects and waits for the first byte: a server that wants a client certificate says so after the handshake.
func dial(t *testing.T, addr string, client tlsfiles.Config) error {
	t.Helper()
	config, err := client.Load()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	return err
}
