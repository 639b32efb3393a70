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
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
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

// ErrNotOffered says that the broker does not know the request.
var ErrNotOffered = errors.New("the broker does not offer the request")

const (
	// correlationID is the same in all requests: a connection carries one request at a time.
	correlationID = 1
	// anyBroker stands for the node id of a broker where any broker can answer.
	anyBroker = -1
)

// ask sends a request to a broker, in the version of req or the highest older one that the broker knows. It waits for
// the answer for RequestTimeout at most. With an error the answer is empty, and not nil.
func ask[R kmsg.Response](ctx context.Context, c *Client, node int32, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	empty := req.ResponseKind().(R) // made before: when ctx has ended, a connection may still write the request's version
	m, err := c.Transport.RoundTrip(ctx, c.Addr, &call{request: req, clientID: c.ClientID, node: node})
	if err != nil {
		return empty, err
	}
	return m.(answer).Response.(R), nil
}

// call is a request that reads and writes kafka-go's connection itself.
type call struct {
	request  kmsg.Request
	clientID string
	node     int32
	versions map[protocol.ApiKey]int16 // those that both the broker and kafka-go know
}

type answer struct{ kmsg.Response }

var (
	_ protocol.BrokerMessage = (*call)(nil)
	_ protocol.RawExchanger  = (*call)(nil)
)

// ApiKey implements protocol.Message.
func (a answer) ApiKey() protocol.ApiKey { return protocol.ApiKey(a.Key()) } //nolint:revive // the interface's

// ApiKey implements protocol.Message.
func (r *call) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.request.Key()) } //nolint:revive // the interface's

// Broker implements protocol.BrokerMessage.
func (r *call) Broker(c protocol.Cluster) (protocol.Broker, error) {
	if r.node == anyBroker {
		return protocol.Broker{ID: anyBroker}, nil // kafka-go chooses
	}
	return brokerOf(c, r.node)
}

// brokerOf returns a broker that must be known.
func brokerOf(c protocol.Cluster, node int32) (protocol.Broker, error) {
	b, ok := c.Brokers[node]
	if !ok {
		return protocol.Broker{}, fmt.Errorf("broker %d: %w", node, kafka.BrokerNotAvailable)
	}
	return b, nil
}

// Required implements protocol.RawExchanger: always.
func (r *call) Required(versions map[protocol.ApiKey]int16) bool {
	r.versions = versions
	return true
}

// RawExchange implements protocol.RawExchanger.
func (r *call) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	highest := r.versions
	// kafka-go knows older versions of the first, and not the second, which comes with the new protocol of groups.
	if key := kmsg.Key(r.request.Key()); key == kmsg.Metadata || key == kmsg.ConsumerGroupDescribe {
		var err error
		if highest, err = versions(rw, r.clientID); err != nil {
			return nil, err
		}
	}
	version, known := highest[r.ApiKey()]
	if !known {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(r.request.Key()), ErrNotOffered)
	}
	r.request.SetVersion(min(version, r.request.GetVersion()))
	res := r.request.ResponseKind()
	return answer{res}, exchange(rw, r.clientID, r.request, res)
}

// Coordinator returns the node id of the broker that coordinates the consumer group or the transactional id.
//
// kafka-go's routing to coordinators is not used: when its look-up is answered with an error code, kafka-go drops the
// code and sends the request to the node -1.
func (c *Client) Coordinator(ctx context.Context, of kafka.CoordinatorKeyType, key string) (node int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	m, err := c.Transport.RoundTrip(ctx, c.Addr, &findcoordinator.Request{Key: key, KeyType: int8(of)})
	if err != nil {
		return -1, err
	}
	res := m.(*findcoordinator.Response)
	return res.NodeID, codeOf(res.ErrorCode)
}

// codeOf returns the error of a code; nil for 0.
func codeOf(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}

// Probe asks a broker which versions of the protocol it knows. A nil error means that a process behind the connection
// answers. Brokers answer this request before a login, too.
func Probe(conn io.ReadWriter, clientID string) error {
	_, err := versions(conn, clientID)
	return err
}

// versions asks a broker for the highest version of each request that it knows.
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

// tlsAlert is the type of a TLS record (RFC 8446, section 5.1): a listener with TLS answers anything else so. The
// second byte is 3, the version.
const tlsAlert = 21

// ErrTLS says that a broker has answered with an alert of TLS. Its words are those of kafka-go's error.
var ErrTLS = errors.New("an alert of TLS: broker appears to be expecting TLS")

// exchange sends a request and reads its answer into res.
func exchange(rw io.ReadWriter, clientID string, req kmsg.Request, res kmsg.Response) error {
	size, err := send(rw, clientID, req)
	if err != nil {
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

// send sends a request and returns the size of the answer, as it was sent. The answer stays in the connection.
func send(rw io.ReadWriter, clientID string, req kmsg.Request) (size [4]byte, err error) {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := rw.Write(format.AppendRequest(nil, req, correlationID)); err != nil {
		return size, err
	}
	_, err = io.ReadFull(rw, size[:])
	return size, err
}
