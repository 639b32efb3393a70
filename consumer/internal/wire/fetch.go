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

	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FetchRequest asks the leader of one partition, or another of its replicas, for records.
type FetchRequest struct {
	TopicPartition
	Offset int64
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
	LastStable    int64 // the offset of the first record of an open transaction, or the HighWatermark; -1: not known
	Preferred     int32 // the replica to ask instead of the leader, which then sends no records; negative: none
	aborted       []abortedTransaction
	records       []byte // record batches, the last one possibly cut off
}

// HasRecords says whether the broker sent anything, be it only part of a batch.
func (r *FetchResponse) HasRecords() bool { return len(r.records) > 0 }

// abortedTransaction says that the records that a producer wrote from FirstOffset on, up to its next abort
// marker, do not count.
type abortedTransaction = kmsg.FetchResponseTopicPartitionAbortedTransaction

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
	m, err := c.Transport.RoundTrip(ctx, c.Addr, &fetch{
		FetchRequest: r, call: call{request: r.message(), clientID: c.ClientID}, arrived: func() { patience.Stop() },
	})
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
			err = cause
		}
		return nil, err
	}
	return responseOf(m.(answer).Response.(*kmsg.FetchResponse), r.TopicPartition)
}

// fetchVersion of the Fetch request is known to Kafka 2.3 and later.
const fetchVersion = 11

// fetch is a call that waits for memory before it reads its answer. It is routed to the leader by kafka-go's rule,
// unless it names another replica.
type fetch struct {
	FetchRequest
	call
	arrived func() // called when the size of the response is known
}

// Broker routes the request to the replica, or to the partition's leader.
func (r *fetch) Broker(c protocol.Cluster) (protocol.Broker, error) {
	if r.Replica != nil {
		return brokerOf(c, *r.Replica)
	}
	route := fetchapi.Request{Topics: []fetchapi.RequestTopic{{
		Topic: r.Topic, Partitions: []fetchapi.RequestPartition{{Partition: r.Partition}},
	}}}
	return route.Broker(c)
}

// RawExchange implements protocol.RawExchanger. After an error kafka-go closes the connection.
func (r *fetch) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if known := r.versions[protocol.Fetch]; known < fetchVersion {
		return nil, fmt.Errorf("the broker is too old: it knows Fetch up to version %d, %d (Kafka 2.3) is needed",
			known, fetchVersion)
	}
	conn := rw.(net.Conn) // kafka-go's protocol.Conn.RoundTrip passes itself
	if err := conn.SetDeadline(time.Now().Add(r.MaxWait + RequestTimeout)); err != nil {
		return nil, err
	}
	size, err := send(conn, r.clientID, r.request)
	if err != nil {
		return nil, err
	}
	n := int64(int32(binary.BigEndian.Uint32(size[:])))
	if n < 4 || n > int64(r.MaxResponse) {
		return nil, fmt.Errorf("fetch response of %d bytes, at most %d are read: raise kafka.max_message_bytes", n,
			r.MaxResponse)
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
	res := &kmsg.FetchResponse{Version: fetchVersion}
	return answer{res}, res.ReadFrom(body[4:]) // without the correlation id
}

func (r *FetchRequest) message() *kmsg.FetchRequest {
	m := kmsg.NewPtrFetchRequest()
	m.Version, m.MaxWaitMillis = fetchVersion, int32(r.MaxWait.Milliseconds())
	m.MinBytes, m.MaxBytes = 1, int32(r.MaxBytes)
	m.Rack = r.Rack
	if !r.Uncommitted {
		m.IsolationLevel = 1 // read committed
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = r.Partition, r.Offset, int32(r.MaxBytes)
	m.Topics = []kmsg.FetchRequestTopic{{Topic: r.Topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return m
}

// receive reads a response of n bytes. Memory beyond MaxBytes is taken only as bytes arrive: the size may be wrong.
func (r *fetch) receive(conn net.Conn, n int64) ([]byte, error) {
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

// responseOf returns the answer for the partition that was asked for.
func responseOf(res *kmsg.FetchResponse, of TopicPartition) (*FetchResponse, error) {
	if err := codeOf(res.ErrorCode); err != nil {
		return nil, err
	}
	if len(res.Topics) != 1 || res.Topics[0].Topic != of.Topic || len(res.Topics[0].Partitions) != 1 ||
		res.Topics[0].Partitions[0].Partition != of.Partition {
		return nil, errors.New("fetch response: another partition than the requested one")
	}
	p := res.Topics[0].Partitions[0]
	return &FetchResponse{
		HighWatermark: p.HighWatermark, LastStable: p.LastStableOffset, Preferred: p.PreferredReadReplica,
		aborted: p.AbortedTransactions, records: p.RecordBatches,
	}, codeOf(p.ErrorCode)
}
