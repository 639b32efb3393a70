package consumer

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

// fetchVersion of the Fetch request is known to Kafka 2.3 and later.
const fetchVersion = 11

// fetchRequest asks for one partition, read committed. It writes and reads the connection itself, because
// kafka-go's own response type hides checksums and the last offsets of batches; routing to the
// leader, TLS and login stay kafka-go's.
type fetchRequest struct {
	clientID  string
	topic     string
	partition int32
	offset    int64
	maxWait   time.Duration
	maxBytes  int
	// limit is the largest response that is read: the broker sends one whole batch even above maxBytes.
	limit   int
	room    *room
	version int16 // negotiated
}

// fetchResponse is the broker's answer for one partition.
type fetchResponse struct {
	highWatermark int64
	aborted       []abortedTransaction
	records       []byte // record batches, the last one possibly cut off
}

// abortedTransaction says that what the producer wrote from the offset on, until its abort marker, is void.
type abortedTransaction struct{ producerID, firstOffset int64 }

var (
	_ protocol.BrokerMessage = (*fetchRequest)(nil)
	_ protocol.RawExchanger  = (*fetchRequest)(nil)
)

// ApiKey implements protocol.Message.
func (*fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch } //nolint:revive // name given by the interface

// ApiKey implements protocol.Message.
func (*fetchResponse) ApiKey() protocol.ApiKey { return protocol.Fetch } //nolint:revive // name given by the interface

// Broker routes the request to the partition's leader, by kafka-go's own rule.
func (r *fetchRequest) Broker(c protocol.Cluster) (protocol.Broker, error) {
	route := fetchapi.Request{Topics: []fetchapi.RequestTopic{{
		Topic: r.topic, Partitions: []fetchapi.RequestPartition{{Partition: r.partition}},
	}}}
	return route.Broker(c)
}

// Required implements protocol.RawExchanger: always.
func (r *fetchRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// errLate says that a broker closed the connection while its response waited for room.
var errLate = errors.New("the connection was closed while the fetch response waited for room in kafka.max_in_flight_bytes")

// RawExchange implements protocol.RawExchanger. After an error kafka-go closes the connection. Deadlines are those of the steps:
// waiting for room in between has none.
func (r *fetchRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < fetchVersion {
		return nil, fmt.Errorf("the broker is too old: it knows Fetch up to version %d, %d (Kafka 2.3) is needed", r.version, fetchVersion)
	}
	conn := rw.(net.Conn) // as kafka-go's protocol.Conn.RoundTrip passes itself
	n, err := r.ask(conn)
	if err != nil {
		return nil, err
	}
	late, err := r.room.take(n)
	if err != nil {
		return nil, err
	}
	body, err := r.receive(conn, n)
	switch {
	case err != nil && late:
		return nil, errLate
	case err != nil:
		return nil, err
	}
	return decodeFetchResponse(body, r.topic, r.partition)
}

// ask sends the request and returns the size of the response, which stays in the connection.
func (r *fetchRequest) ask(conn net.Conn) (int64, error) {
	if err := conn.SetDeadline(time.Now().Add(r.maxWait + requestTimeout)); err != nil {
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
	if n < 4 || n > int64(r.limit) {
		return 0, fmt.Errorf("fetch response of %d bytes, at most %d are read: raise kafka.fetch_max_bytes", n, r.limit)
	}
	return n, nil
}

// receive reads a response of n bytes. Memory beyond the usual size is taken only as bytes really arrive.
func (r *fetchRequest) receive(conn net.Conn, n int64) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(min(n, int64(r.maxBytes)+64<<10)) + bytes.MinRead)
	if _, err := io.CopyN(&buf, conn, n); err != nil {
		return nil, err
	}
	return buf.Bytes(), conn.SetDeadline(time.Time{})
}

// correlationID is the same in all requests: a connection carries one request at a time.
const correlationID = 1

func (r *fetchRequest) encode() []byte {
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
	b = be.AppendUint32(b, uint32(r.maxWait.Milliseconds()))
	b = be.AppendUint32(b, 1) // minimal bytes
	b = be.AppendUint32(b, uint32(r.maxBytes))
	b = append(b, 1)                   // isolation: read committed
	b = be.AppendUint32(b, 0)          // session: none
	b = be.AppendUint32(b, ^uint32(0)) // session epoch: none
	b = be.AppendUint32(b, 1)          // topics
	str(r.topic)
	b = be.AppendUint32(b, 1) // partitions
	b = be.AppendUint32(b, uint32(r.partition))
	b = be.AppendUint32(b, ^uint32(0)) // leader epoch: unknown
	b = be.AppendUint64(b, uint64(r.offset))
	b = be.AppendUint64(b, ^uint64(0)) // log start: for replicas only
	b = be.AppendUint32(b, uint32(r.maxBytes))
	b = be.AppendUint32(b, 0) // forgotten topics
	str("")                   // rack
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

var errFetchResponse = errors.New("fetch response is malformed")

func decodeFetchResponse(b []byte, topic string, partition int32) (*fetchResponse, error) {
	w := wire{buf: b}
	if id := w.int32(); id != correlationID {
		return nil, fmt.Errorf("%w: correlation id %d", errFetchResponse, id)
	}
	w.int32() // throttle time
	if code := w.int16(); code != 0 {
		return nil, kafka.Error(code)
	}
	w.int32() // session
	topics, name, partitions, index := w.int32(), string(w.take(int64(w.int16()))), w.int32(), w.int32()
	if w.bad || topics != 1 || partitions != 1 || name != topic || index != partition {
		return nil, fmt.Errorf("%w: not the partition asked for", errFetchResponse)
	}
	if code := w.int16(); code != 0 {
		return nil, kafka.Error(code)
	}
	res := &fetchResponse{highWatermark: w.int64()}
	w.int64() // last stable offset
	w.int64() // log start offset
	aborted := w.int32()
	if int64(aborted) > int64(len(w.buf))/16 {
		return nil, fmt.Errorf("%w: %d aborted transactions", errFetchResponse, aborted)
	}
	for range aborted {
		res.aborted = append(res.aborted, abortedTransaction{w.int64(), w.int64()})
	}
	w.int32() // preferred replica
	if n := w.int32(); n > 0 {
		res.records = w.take(int64(n))
	}
	if w.bad {
		return nil, fmt.Errorf("%w: too short", errFetchResponse)
	}
	return res, nil
}

// wire reads big-endian fields; see cursor.
type wire cursor

func (w *wire) take(n int64) []byte { return (*cursor)(w).take(n) }

func (w *wire) int16() int16 {
	if b := w.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (w *wire) int32() int32 {
	if b := w.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (w *wire) int64() int64 {
	if b := w.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// fetch asks the partition's leader for records from offset on. The caller calls release when it no longer uses the response.
// Errors of the broker are kafka.Error.
func (c *cluster) fetch(ctx context.Context, l *limiter, topic string, partition int32, offset int64) (res *fetchResponse, release func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Also ends a fetch that gets no connection. Once the response has begun to arrive, the exchange has deadlines of its own.
	patience := time.AfterFunc(c.cfg.FetchMaxWait+requestTimeout, func() { cancel(context.DeadlineExceeded) })
	defer patience.Stop()
	space := &room{ctx: ctx, limiter: l, arrived: func() { patience.Stop() }}
	m, err := c.transport.RoundTrip(ctx, c.addr, &fetchRequest{
		clientID: c.cfg.ClientID, topic: topic, partition: partition, offset: offset, room: space,
		maxWait: c.cfg.FetchMaxWait, maxBytes: min(c.cfg.FetchMaxBytes, int(l.maxResponses)), limit: c.cfg.maxFetchBytes(),
	})
	if err != nil {
		space.close()
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
			err = cause
		}
		return nil, nil, c.rootCause(ctx, err)
	}
	return m.(*fetchResponse), space.close, nil
}
