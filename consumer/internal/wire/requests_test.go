package wire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A response waits for memory in the connection, for longer than the broker keeps the connection.
func TestResponseThatWaitedTooLongIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		granted := make(chan struct{})
		ask := fetch{arrived: func() {}, FetchRequest: FetchRequest{
			MaxWait: time.Second, MaxResponse: 1 << 20, Reserve: func(int64) error { <-granted; return nil },
		}}
		ask.request = ask.message()
		ask.Required(map[protocol.ApiKey]int16{protocol.Fetch: fetchVersion})
		done := make(chan error)
		go func() {
			_, err := ask.RawExchange(here)
			done <- err
		}()
		var size [4]byte
		_, err := io.ReadFull(there, size[:])
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, there, int64(binary.BigEndian.Uint32(size[:])))
		require.NoError(t, err)
		_, err = there.Write(binary.BigEndian.AppendUint32(nil, 1<<16))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, there.Close())
		close(granted)
		require.ErrorIs(t, <-done, ErrLate)
	})
}

// A request whose answer is lost ends after a time.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(k.Close)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	k.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.SleepControl(func() { <-over })
		return nil, nil, false
	})
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 2*RequestTimeout)
	defer cancel()
	_, err = (&Client{Transport: transport, Addr: kafka.TCP(k.ListenAddrs()...), ClientID: "test"}).Coordinator(ctx,
		kafka.CoordinatorKeyTypeTransaction, "x")
	require.Error(t, err) // by the context or by the connection, whichever ends first
	require.NoError(t, ctx.Err())
}
