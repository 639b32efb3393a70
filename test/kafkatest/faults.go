package kafkatest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"echosieve/consumer/broker"

	"github.com/stretchr/testify/require"
)

// Fault is a failure of a request on its way.
type Fault int

// The failures.
const (
	Pass       Fault = iota
	LoseAnswer       // the broker handles it, the connection ends before the answer arrives
	Hold             // the connection ends; the broker gets the request later, when the test says so
)

// ErrCut is the error of a connection that a test has cut.
var ErrCut = errors.New("the connection was cut")

// Faults chooses faults for requests of one kind, on all connections of a cluster.
type Faults struct {
	Key    int16
	Choose func(n int64) Fault // n counts the requests of the kind, from 1

	Seen atomic.Int64
	mu   sync.Mutex
	held []func() error
}

// Into makes the connections of c pass through f.
func (f *Faults) Into(c *broker.Cluster) {
	dial := c.Wire.Transport.Dial
	c.Wire.Transport.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &faultConn{Conn: conn, faults: f}, nil
	}
}

// Release hands the requests that were held so far to the broker and waits for its answers. It returns their number.
func (f *Faults) Release(t *testing.T) int {
	f.mu.Lock()
	held := f.held
	f.held = nil
	f.mu.Unlock()
	for _, deliver := range held {
		require.NoError(t, deliver())
	}
	return len(held)
}

// faultConn reads the frames that are written to it.
type faultConn struct {
	net.Conn
	faults *Faults
	frame  []byte
	broken atomic.Bool
}

func (c *faultConn) Write(b []byte) (int, error) {
	c.frame = append(c.frame, b...)
	for len(c.frame) >= 6 {
		size := 4 + int(binary.BigEndian.Uint32(c.frame))
		if len(c.frame) < size {
			break
		}
		if err := c.send(c.frame[:size]); err != nil {
			return 0, err
		}
		c.frame = c.frame[size:]
	}
	return len(b), nil
}

func (c *faultConn) send(frame []byte) error {
	what := Pass
	if f := c.faults; int16(binary.BigEndian.Uint16(frame[4:])) == f.Key {
		what = f.Choose(f.Seen.Add(1))
	}
	if what == Hold {
		c.broken.Store(true)
		request := append([]byte(nil), frame...)
		c.faults.mu.Lock()
		defer c.faults.mu.Unlock()
		c.faults.held = append(c.faults.held, func() error { return exchange(c.Conn.RemoteAddr().String(), request) })
		return nil
	}
	_, err := c.Conn.Write(frame)
	if what == LoseAnswer {
		if err := readFrame(c.Conn); err != nil {
			return err
		}
		c.broken.Store(true)
	}
	return err
}

func (c *faultConn) Read(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, ErrCut
	}
	return c.Conn.Read(b)
}

// exchange sends a request over a separate connection and waits for the answer.
func exchange(address string, request []byte) error {
	conn, err := new(net.Dialer).Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	return readFrame(conn)
}

func readFrame(r io.Reader) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(size[:])))
	return err
}
