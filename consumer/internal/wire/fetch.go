package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
)

// FetchRequest asks the leader of one partition, or another of its replicas, for records.
type FetchRequest struct {
	Topic     string
	Partition int32
	Offset    int64
	// Replica is the broker to ask; nil: the leader.
	Replica *int32
	// Rack makes the leader name the replica to ask instead, if another one is nearer: FetchResponse.Preferred.
	Rack string
	// Uncommitted also asks for records of open transactions. NewTail reads them.
	Uncommitted bool
	// MaxWait is how long the broker may hold the request back while there is nothing new.
	MaxWait time.Duration
	// MaxBytes is the size at which the broker stops adding batches. It sends the first batch whole, however large.
	MaxBytes int
	// MaxResponse is the size in bytes of the largest response that is read. It bounds the memory that a
	// wrong length can take.
	MaxResponse int
	// Reserve is called with the size of the response before the response is read, and waits until so much
	// memory may be used. Until then the response stays with the broker and in the buffers of the connection.
	// kafka-go exchanges requests in another goroutine: if ctx ends meanwhile, Reserve may be called, or
	// return, after Fetch has returned.
	Reserve func(bytes int64) error
}

// FetchResponse is the broker's answer for one partition. NewReader reads its records.
type FetchResponse struct {
	HighWatermark int64
	Preferred     int32 // the replica to ask instead of the leader, which then sends no records; negative: none
	aborted       []abortedTransaction
	records       []byte // record batches, the last one possibly cut off
}

// HasRecords says whether the broker sent anything, be it only part of a batch.
func (r *FetchResponse) HasRecords() bool { return len(r.records) > 0 }

// abortedTransaction says that the records that a producer wrote from firstOffset on, up to its next abort
// marker, do not count.
type abortedTransaction struct{ producerID, firstOffset int64 }

// ErrLate is returned if the broker closed the connection while the response waited in Reserve. The broker
// works: the request can be sent again at once.
var ErrLate = errors.New(
	"the connection was closed while the fetch response waited for memory below kafka.max_in_flight_bytes")

// Fetch sends the request. Two steps have a deadline: the broker must answer within MaxWait and
// RequestTimeout, and the response must arrive within RequestTimeout after Reserve has returned. Waiting in
// Reserve has no deadline except the end of ctx.
func (c *Client) Fetch(ctx context.Context, r FetchRequest) (*FetchResponse, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The timer also ends a fetch that gets no connection. It stops when the response begins to arrive: from
	// then on RawExchange sets the deadlines.
	patience := time.AfterFunc(r.MaxWait+RequestTimeout, func() { cancel(context.DeadlineExceeded) })
	defer patience.Stop()
	m, err := c.roundTrip(ctx, &fetchExchange{FetchRequest: r, clientID: c.ClientID,
		arrived: func() { patience.Stop() }})
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
			err = cause
		}
		return nil, err
	}
	return m.(*FetchResponse), nil
}

// fetchVersion of the Fetch request is known to Kafka 2.3 and later.
const fetchVersion = 11

// fetchExchange writes and reads the connection itself: see the package comment. It is routed to the leader
// by kafka-go's rule, unless it names another replica.
type fetchExchange struct {
	FetchRequest
	clientID string
	arrived  func() // called when the size of the response is known
	version  int16  // negotiated
}

var (
	_ protocol.BrokerMessage = (*fetchExchange)(nil)
	_ protocol.RawExchanger  = (*fetchExchange)(nil)
)

// ApiKey implements protocol.Message.
func (*fetchExchange) ApiKey() protocol.ApiKey { return protocol.Fetch } //nolint:revive // name given by the interface

// ApiKey implements protocol.Message.
func (*FetchResponse) ApiKey() protocol.ApiKey { return protocol.Fetch } //nolint:revive // name given by the interface

// Broker routes the request to the replica, or to the partition's leader.
func (r *fetchExchange) Broker(c protocol.Cluster) (protocol.Broker, error) {
	if r.Replica != nil {
		return brokerOf(c, *r.Replica, "the nearest replica")
	}
	route := fetchapi.Request{Topics: []fetchapi.RequestTopic{{
		Topic: r.Topic, Partitions: []fetchapi.RequestPartition{{Partition: r.Partition}},
	}}}
	return route.Broker(c)
}

// Required implements protocol.RawExchanger: always.
func (r *fetchExchange) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// RawExchange implements protocol.RawExchanger. After an error kafka-go closes the connection.
func (r *fetchExchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < fetchVersion {
		return nil, fmt.Errorf("the broker is too old: it knows Fetch up to version %d, %d (Kafka 2.3) is needed",
			r.version, fetchVersion)
	}
	conn := rw.(net.Conn) // kafka-go's protocol.Conn.RoundTrip passes itself
	n, err := r.send(conn)
	if err != nil {
		return nil, err
	}
	r.arrived()
	start := time.Now()
	if err := r.Reserve(n); err != nil {
		return nil, err
	}
	// brokers close a connection from which the client reads nothing for long
	late := time.Since(start) > RequestTimeout
	body, err := r.receive(conn, n)
	switch {
	case err != nil && late:
		return nil, ErrLate
	case err != nil:
		return nil, err
	}
	return decodeFetchResponse(body, r.Topic, r.Partition)
}

// send sends the request and returns the size of the response. The response itself stays in the connection.
func (r *fetchExchange) send(conn net.Conn) (int64, error) {
	if err := conn.SetDeadline(time.Now().Add(r.MaxWait + RequestTimeout)); err != nil {
		return 0, err
	}
	if _, err := conn.Write(r.encode()); err != nil {
		return 0, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return 0, err
	}
	n := int64(int32(binary.BigEndian.Uint32(size[:])))
	if n < 4 || n > int64(r.MaxResponse) {
		return 0, fmt.Errorf("fetch response of %d bytes, at most %d are read: raise kafka.max_message_bytes", n,
			r.MaxResponse)
	}
	return n, nil
}

// receive reads a response of n bytes. Memory beyond MaxBytes is taken only as bytes arrive: the size may be wrong.
func (r *fetchExchange) receive(conn net.Conn, n int64) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(RequestTimeout)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(min(n, int64(r.MaxBytes)+64<<10)) + bytes.MinRead)
	if _, err := io.CopyN(&buf, conn, n); err != nil {
		return nil, err
	}
	return buf.Bytes(), conn.SetDeadline(time.Time{})
}

func (r *fetchExchange) encode() []byte {
	b := make([]byte, 4, 128)
	be := binary.BigEndian
	str := func(s string) {
		b = be.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	b = be.AppendUint16(b, uint16(protocol.Fetch))
	b = be.AppendUint16(b, fetchVersion)
	b = be.AppendUint32(b, correlationID)
	str(r.clientID)
	b = be.AppendUint32(b, ^uint32(0)) // replica: none, a consumer
	b = be.AppendUint32(b, uint32(r.MaxWait.Milliseconds()))
	b = be.AppendUint32(b, 1) // minimal bytes
	b = be.AppendUint32(b, uint32(r.MaxBytes))
	b = append(b, r.isolation())
	b = be.AppendUint32(b, 0)          // session: none
	b = be.AppendUint32(b, ^uint32(0)) // session epoch: none
	b = be.AppendUint32(b, 1)          // topics
	str(r.Topic)
	b = be.AppendUint32(b, 1) // partitions
	b = be.AppendUint32(b, uint32(r.Partition))
	b = be.AppendUint32(b, ^uint32(0)) // leader epoch: unknown
	b = be.AppendUint64(b, uint64(r.Offset))
	b = be.AppendUint64(b, ^uint64(0)) // log start: for replicas only
	b = be.AppendUint32(b, uint32(r.MaxBytes))
	b = be.AppendUint32(b, 0) // forgotten topics
	str(r.Rack)
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

func (r *fetchExchange) isolation() byte {
	if r.Uncommitted {
		return 0 // read uncommitted
	}
	return 1 // read committed
}

var errFetchResponse = errors.New("fetch response is malformed")

func decodeFetchResponse(b []byte, topic string, partition int32) (*FetchResponse, error) {
	f := fields{buf: b}
	if id := f.int32(); id != correlationID {
		return nil, fmt.Errorf("%w: correlation id %d", errFetchResponse, id)
	}
	f.int32() // throttle time
	if code := f.int16(); code != 0 {
		return nil, kafka.Error(code)
	}
	f.int32() // session
	topics, name, partitions, index := f.int32(), string(f.take(int64(f.int16()))), f.int32(), f.int32()
	if f.bad || topics != 1 || partitions != 1 || name != topic || index != partition {
		return nil, fmt.Errorf("%w: another partition than the requested one", errFetchResponse)
	}
	if code := f.int16(); code != 0 {
		return nil, kafka.Error(code)
	}
	res := &FetchResponse{HighWatermark: f.int64()}
	f.int64() // last stable offset
	f.int64() // log start offset
	aborted := f.int32()
	if int64(aborted) > int64(len(f.buf))/16 {
		return nil, fmt.Errorf("%w: %d aborted transactions", errFetchResponse, aborted)
	}
	for range aborted {
		res.aborted = append(res.aborted, abortedTransaction{f.int64(), f.int64()})
	}
	res.Preferred = f.int32()
	if n := f.int32(); n > 0 {
		res.records = f.take(int64(n))
	}
	if f.bad {
		return nil, fmt.Errorf("%w: too short", errFetchResponse)
	}
	return res, nil
}
