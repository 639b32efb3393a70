package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RequestTimeout bounds a request that the broker answers at once, and each step of a fetch.
const RequestTimeout = 15 * time.Second

// Client sends the requests of this package. Errors of brokers are kafka.Error. Safe for concurrent use.
type Client struct {
	Transport *kafka.Transport
	Addr      net.Addr
	ClientID  string // name that brokers show in logs and quotas
}

// correlationID is the same in all requests: a connection carries one request at a time.
const correlationID = 1

// roundTrip sends a request that reads and writes the connection itself.
func (c *Client) roundTrip(ctx context.Context, r protocol.RawExchanger) (protocol.Message, error) {
	return c.Transport.RoundTrip(ctx, c.Addr, r.(protocol.Message))
}

// Probe asks a broker which versions of the protocol it knows. A nil error means that a process behind the connection
// answers. Brokers answer this request before a login, too.
func Probe(conn io.ReadWriter, clientID string) error {
	_, err := versions(conn, clientID)
	return err
}

// versions asks a broker for the highest version of each request that it knows. kafka-go's negotiated
// versions are no substitute: they end at the versions that kafka-go knows.
func versions(conn io.ReadWriter, clientID string) (map[protocol.ApiKey]int16, error) {
	res := &kmsg.ApiVersionsResponse{}
	if err := exchange(conn, clientID, &kmsg.ApiVersionsRequest{}, res); err != nil {
		return nil, err
	}
	highest := map[protocol.ApiKey]int16{}
	for _, k := range res.ApiKeys {
		highest[protocol.ApiKey(k.ApiKey)] = k.MaxVersion
	}
	return highest, nil
}

// maxAnswerBytes bounds the memory that a wrong length of an answer can take.
const maxAnswerBytes = 16 << 20

// tlsAlert is the type of a TLS record (RFC 8446, section 5.1): a listener with TLS answers anything else so. The second
// byte is 3, the version.
const tlsAlert = 21

// ErrTLS says that a broker has answered with an alert of TLS. Its words are those of kafka-go's error.
var ErrTLS = errors.New("an alert of TLS: broker appears to be expecting TLS")

// exchange sends a request and reads its answer into res.
func exchange(rw io.ReadWriter, clientID string, req kmsg.Request, res kmsg.Response) error {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := rw.Write(format.AppendRequest(nil, req, correlationID)); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return err
	}
	if size[0] == tlsAlert && size[1] == 3 {
		return ErrTLS
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxAnswerBytes {
		return fmt.Errorf("an answer begins with %q, a size of %d bytes", size, int32(n))
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(rw, buf); err != nil {
		return err
	}
	buf = buf[4:] // correlation id
	if res.IsFlexible() && len(buf) > 0 {
		buf = buf[1:] // number of tagged fields: brokers send none here
	}
	return res.ReadFrom(buf)
}
