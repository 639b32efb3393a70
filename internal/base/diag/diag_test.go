package diag

import (
	"context"
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

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

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
