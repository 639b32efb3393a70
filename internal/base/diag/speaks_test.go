package diag

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/test/redisserver"
)

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
