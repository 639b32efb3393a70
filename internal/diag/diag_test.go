package diag

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/internal/remote"
	"echosieve/test/certs"
)

var broker = Server{
	Name: "the broker", Kind: "broker", TLS: "kafka.tls", Addresses: "kafka.brokers",
	AlsoCheck: " and advertised.listeners", ClosedHint: "closed hint", SlowHint: "slow hint",
}

// Every fault of the network has its own cause, also if the error is wrapped. None is permanent: trying again may help.
func TestExplainNetworkFaults(t *testing.T) {
	for _, c := range []struct {
		err           error
		cause, remedy string
	}{
		{&net.DNSError{Name: "nowhere", IsTimeout: true}, "host name is unknown",
			"check kafka.brokers and advertised.listeners"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "no broker answers",
			"check that it runs, kafka.brokers and"},
		{syscall.EHOSTUNREACH, "no broker answers", "kafka.brokers"},
		{io.ErrUnexpectedEOF, "the broker closed the connection", "closed hint"},
		{syscall.ECONNRESET, "the broker closed the connection", "closed hint"},
		{context.DeadlineExceeded, "the broker did not answer in time", "slow hint"},
		{os.ErrDeadlineExceeded, "the broker did not answer in time", "slow hint"},
	} {
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		p := broker.Explain(wrapped)
		require.NotNil(t, p, "%v", c.err)
		require.Contains(t, p.Cause, c.cause)
		require.Contains(t, p.Remedy, c.remedy)
		require.False(t, p.Permanent, "%v", c.err)
		require.Same(t, wrapped, p.Err)
	}
	require.Nil(t, broker.Explain(errors.New("something else")))
	require.Nil(t, broker.Explain(context.Canceled))
}

func TestProblemIsOneLine(t *testing.T) {
	p := &Problem{Cause: "cause", Remedy: "remedy", Err: errors.New("all failed:\nb\na\nb")}
	require.Equal(t, "cause: remedy (all failed:; a; b)", p.Error())
	require.Equal(t, Finding{Severity: Failure, Subject: "subject", Problem: "cause (all failed:; a; b)",
		Remedy: "remedy"}, p.Finding(Failure, "subject"))
}

// TestOtherServersAreRefused of package broker has Redis and a web server.
func TestSpeaks(t *testing.T) {
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(kafka.Close)
	require.Equal(t, SpeaksKafka, Speaks(t.Context(), kafka.ListenAddrs()[0]))
	require.Empty(t, Speaks(t.Context(), "127.0.0.1:1"))
}

func TestControllersOfferNoMetadata(t *testing.T) {
	header := []byte{0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}
	require.Equal(t, SpeaksController, protocolOf(append(header, 0, 18, 0, 0, 0, 4)))
	require.Equal(t, SpeaksKafka, protocolOf(append(header, 0, 3, 0, 0, 0, 13)))
	require.Equal(t, SpeaksTLS, protocolOf([]byte{0x15, 3, 1, 0, 2, 2, 70}))
}

// Each way in which a handshake fails is recognised, because each has another remedy.
func TestTLSFaults(t *testing.T) {
	mine, other := certs.NewAuthority(t), certs.NewAuthority(t)
	good := load(t, mine.ServerOn("127.0.0.1"))
	trusting := remote.TLS{Enabled: true, Files: remote.Files{CAFile: mine.File}}
	trusted, err := trusting.Load()
	require.NoError(t, err)
	stranger := remote.TLS{Enabled: true, Files: remote.Files{CAFile: other.File}}
	elsewhere, blind := trusting, stranger
	elsewhere.ServerName, blind.InsecureSkipVerify = "elsewhere", true
	server, late := &tls.Config{Certificates: good}, &tls.Config{Certificates: load(t, mine.Expired("127.0.0.1"))}
	for name, c := range map[string]struct {
		server *tls.Config // nil: one without TLS
		client remote.TLS
		want   string
	}{
		"all well":       {server, trusting, ""},
		"untrusted":      {server, stranger, "is not trusted"},
		"other name":     {server, elsewhere, "another name"},
		"expired":        {late, trusting, "has expired"},
		"plain":          {nil, trusting, "does not speak TLS"},
		"not verified":   {server, blind, ""},
		"expired, ditto": {late, blind, ""},
		"TLS 1.1": {&tls.Config{Certificates: good, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			trusting, "no TLS 1.2"},
		"TLS 1.2": {&tls.Config{Certificates: good, MaxVersion: tls.VersionTLS12}, trusting, ""},
		"no client": {&tls.Config{Certificates: good, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: trusted.RootCAs}, trusting, "refused the TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			err := dial(t, serve(t, c.server), c.client)
			require.Equal(t, c.want == "", err == nil, "%v", err)
			if p := broker.Explain(err); c.want != "" {
				require.Contains(t, p.Cause, c.want)
				require.True(t, p.Permanent, "%v", p)
			}
		})
	}
}

func load(t *testing.T, p certs.Pair) []tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	require.NoError(t, err)
	return []tls.Certificate{cert}
}

func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	if server.TLS = config; config != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	return server.Listener.Addr().String()
}

// dial connects and asks: a server that wants a client certificate says so after the handshake.
func dial(t *testing.T, addr string, client remote.TLS) error {
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
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	return err
}
