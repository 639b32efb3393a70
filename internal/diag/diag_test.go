package diag

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/internal/tlsfiles"
	"echosieve/test/certs"
	"echosieve/test/redisserver"
)

var broker = Server{
	Name: "the broker", Possessive: "the broker's", Kind: "broker", Settings: "kafka", Addresses: "kafka.brokers",
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

func TestSpeaks(t *testing.T) {
	require.Equal(t, SpeaksRedis, Speaks(t.Context(), redisserver.Addr(t)))

	kafka, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(kafka.Close)
	require.Equal(t, SpeaksKafka, Speaks(t.Context(), kafka.ListenAddrs()[0]))

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	require.Equal(t, SpeaksHTTP, Speaks(t.Context(), strings.TrimPrefix(web.URL, "http://")))

	closes, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closes.Close())
	require.Empty(t, Speaks(t.Context(), closes.Addr().String()))
}

func TestControllersOfferNoMetadata(t *testing.T) {
	header := []byte{0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}
	require.Equal(t, SpeaksController, protocolOf(append(header, 0, 18, 0, 0, 0, 4)))
	require.Equal(t, SpeaksKafka, protocolOf(append(header, 0, 3, 0, 0, 0, 13)))
	require.Equal(t, SpeaksTLS, protocolOf([]byte{0x15, 3, 1, 0, 2, 2, 70}))
}

// Each way in which a handshake fails is recognised, because each has another remedy.
func TestTLSFaultOf(t *testing.T) {
	mine, other := certs.NewAuthority(t), certs.NewAuthority(t)
	good := load(t, mine.ServerOn("127.0.0.1"))
	trusting := tlsfiles.Config{Enabled: true, CAFile: mine.File}
	trusted, err := trusting.Load()
	require.NoError(t, err)
	stranger := tlsfiles.Config{Enabled: true, CAFile: other.File}
	elsewhere, blind := trusting, stranger
	elsewhere.ServerName, blind.InsecureSkipVerify = "elsewhere", true
	server, late := &tls.Config{Certificates: good}, &tls.Config{Certificates: load(t, mine.Expired("127.0.0.1"))}
	for name, c := range map[string]struct {
		server *tls.Config // nil: one without TLS
		client tlsfiles.Config
		want   tlsFault
	}{
		"all well":       {server, trusting, noFault},
		"untrusted":      {server, stranger, untrusted},
		"other name":     {server, elsewhere, otherName},
		"expired":        {late, trusting, expired},
		"plain":          {nil, trusting, notTLS},
		"not verified":   {server, blind, noFault},
		"expired, ditto": {late, blind, noFault},
		"TLS 1.1": {&tls.Config{Certificates: good, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			trusting, tooOld},
		"TLS 1.2": {&tls.Config{Certificates: good, MaxVersion: tls.VersionTLS12}, trusting, noFault},
		"no client": {&tls.Config{Certificates: good, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: trusted.RootCAs}, trusting, refused},
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
	return listen(t, config, func(conn net.Conn) {
		_, _ = conn.Write([]byte("-ERR what?\r\n"))
		_, _ = conn.Read(make([]byte, 1<<16)) // closing with data unread would be a reset
	})
}

// listen gives each connection to answer, until the test ends.
func listen(t *testing.T, config *tls.Config, answer func(conn net.Conn)) string {
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
				answer(conn)
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

func frame(size int32, rest ...int32) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	for _, n := range rest {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return string(b)
}

// receive returns what a client reads that has sent a request, when the server answers with a text in pieces.
func receive(t *testing.T, guard func(net.Conn) net.Conn, request string, answer ...string) (string, error) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	conn := guard(client)
	go func() {
		_, _ = io.ReadFull(server, make([]byte, len(request)))
		for _, part := range answer {
			if _, err := io.WriteString(server, part); err != nil {
				return
			}
		}
		_ = server.Close()
	}()
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	return string(got), err
}

// requireGuarded requires that an answer passes the guard, in one piece and byte by byte, or that the guard
// finds the fault.
func requireGuarded(t *testing.T, guard func(net.Conn) net.Conn, name, request, answer, kind, fault string) {
	t.Helper()
	for _, pieces := range [][]string{{answer}, strings.Split(answer, "")} {
		got, err := receive(t, guard, request, pieces...)
		if fault == "" {
			require.NoError(t, err, name)
			require.Equal(t, answer, got, name)
			continue
		}
		p := (*Problem)(nil)
		require.ErrorAs(t, err, &p, name)
		require.Contains(t, p.Cause, "a:1 sends no "+kind, name)
		require.Contains(t, p.Cause, fault, name)
		require.Equal(t, !strings.HasPrefix(name, "later"), p.Permanent, name)
	}
}

func TestGuardKafka(t *testing.T) {
	const versions, metadata = "\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x07\x00\x00",
		"\x00\x00\x00\x0a\x00\x03\x00\x01\x00\x00\x00\x07\x00\x00"
	guard := func(c net.Conn) net.Conn { return GuardKafka(c, "a:1", "set kafka.brokers") }
	list := frame(22, 7) + "\x00\x00" + frame(2) + strings.Repeat("\x00\x03\x00\x00\x00\x04", 2)
	for name, c := range map[string]struct{ request, answer, fault string }{
		"versions":        {versions, list + frame(5, 9) + "x", ""},
		"metadata":        {metadata, frame(8, 7, -1) + frame(4, 8) + frame(4, 9), ""},
		"HTTP":            {versions, "HTTP/1.1 400 Bad Request\r\n\r\n", `it begins with "HTTP"`},
		"Redis":           {versions, "-ERR unknown command\r\n", `it begins with "-ERR"`},
		"SSH":             {metadata, "SSH-2.0-OpenSSH\r\n", `it begins with "SSH-"`},
		"negative size":   {metadata, frame(-5, 7), "a size of -5 bytes"},
		"no size":         {metadata, frame(0), "a size of 0 bytes"},
		"echo":            {versions, versions, "it answers request 1179648"},
		"another request": {metadata, frame(8, 6, 1), "it answers request 6"},
		"list of many": {versions, frame(22, 7) + "\x00\x00" + frame(1<<30) + strings.Repeat("\x00", 12),
			"a list claims 1073741824 elements in 12 bytes"},
		"list of few": {versions, frame(22, 7) + "\x00\x00" + frame(-1) + strings.Repeat("\x00", 12),
			"a list claims -1 elements"},
		"later, negative":   {metadata, frame(8, 7, 1) + frame(-1), "a size of -1 bytes"},
		"later, very large": {versions, list + frame(2<<30-1), "a size of 2147483647 bytes"},
	} {
		requireGuarded(t, guard, name, c.request, c.answer, "responses of Kafka: ", c.fault)
	}
}

func TestGuardRedis(t *testing.T) {
	guard := func(c net.Conn) net.Conn { return GuardRedis(c, "a:1", "set redis.addrs") }
	for name, c := range map[string]struct{ answer, fault string }{
		"replies":        {"+OK\r\n:1\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n-ERR x\r\n$5\r\na\r\nbc\r\n", ""},
		"arrays":         {"*2\r\n*2\r\n$1\r\na\r\n:7\r\n*1\r\n*0\r\n+OK\r\n", ""},
		"third version":  {"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n_\r\n#t\r\n,1.5\r\n~1\r\n=5\r\ntxt:a\r\n|1\r\n+a\r\n:1\r\n+OK\r\n>1\r\n+p\r\n(12\r\n!3\r\nERR\r\n", ""},
		"HTTP":           {"HTTP/1.1 400 Bad Request\r\n", `a reply begins with "H`},
		"Kafka":          {"\x00\x00\x00\x0a\x00", "a reply begins with"},
		"negative":       {"$-5\r\n", `a size is "-5"`},
		"no number":      {"*x\r\n", `a size is "x"`},
		"no end":         {"$" + strings.Repeat("1", 100), "a size has no end"},
		"string":         {"$2000000000\r\n", "a string claims 2000000000 bytes"},
		"array":          {"*1000000000\r\n", "an array claims 1000000000 elements"},
		"deep":           {strings.Repeat("*1\r\n", 40), "nested deeper than 32"},
		"map":            {"%2100000\r\n", "an array claims 4200000 elements"},
		"arrays of many": {"*4000000\r\n*4000000\r\n", "an array claims 4000000 elements"},
		"later, array":   {"+OK\r\n*1000000000\r\n", "an array claims 1000000000 elements"},
	} {
		requireGuarded(t, guard, name, "PING\r\n", c.answer, "replies of Redis: ", c.fault)
	}
}

// A server that speaks Redis says nothing to a request of Kafka, and is asked what it speaks.
func TestGuardKafkaAsksASilentServer(t *testing.T) {
	addr := listen(t, nil, func(conn net.Conn) {
		b := make([]byte, 6)
		if _, err := io.ReadFull(conn, b); err == nil && string(b) == "PING\r\n" {
			_, _ = io.WriteString(conn, "+PONG\r\n")
		}
		_, _ = io.Copy(io.Discard, conn)
	})
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	conn = GuardKafka(conn, addr, "set kafka.brokers")
	defer conn.Close()
	_, err = io.WriteString(conn, "\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x07\x00\x00")
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 10))
	require.ErrorContains(t, err, addr+" speaks Redis, not Kafka")
}
