package diag

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// maxFrameBytes is the largest response of a broker that a connection lets through, in bytes. A fetch asks
// for far less.
const maxFrameBytes = 256 << 20

// firstAnswer is how long a connection waits for the first response before it asks which protocol the server speaks.
const firstAnswer = 2 * time.Second

// GuardKafka returns a connection on which the responses of a broker are checked before kafka-go reads them:
// kafka-go panics at a negative size, and allocates what a claimed size asks for. The first response must be
// one to the first request, so a server of another kind is found out there. If the first response does not
// come for firstAnswer, the connection asks the server what it speaks. Every error names the address, and is
// a *Problem. wrongPort is the remedy for a server of another kind.
func GuardKafka(conn net.Conn, addr, wrongPort string) net.Conn {
	g := &kafkaGuard{Conn: conn, addr: addr, wrongPort: wrongPort}
	if _, encrypted := conn.(interface{ NetConn() net.Conn }); !encrypted { // Speaks asks without TLS
		g.silence = time.AfterFunc(firstAnswer, g.askKind)
	}
	return g
}

// kafkaGuard follows the frames of one connection: a length in four bytes, and so many bytes. One goroutine
// may read while another one writes.
type kafkaGuard struct {
	net.Conn
	addr, wrongPort string
	silence         *time.Timer // nil on a connection with TLS

	mu      sync.Mutex
	request [12]byte // the beginning of the first request: length, API, version, number
	written int      // bytes of it
	problem *Problem // which protocol the server speaks instead

	// the beginning of the response: length, number, and of the first one an error and the length of a list
	head     [14]byte
	got      int   // bytes of it
	left     int64 // bytes of the response behind it
	answered bool  // the first response has come
}

func (g *kafkaGuard) askKind() {
	if g.begun() == 0 { // nothing was asked yet
		g.silence.Reset(firstAnswer)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*speaksTimeout)
	defer cancel()
	kind := Speaks(ctx, g.addr)
	if kind != SpeaksRedis && kind != SpeaksHTTP {
		return
	}
	g.mu.Lock()
	g.problem = &Problem{Cause: g.addr + " speaks " + kind + ", not Kafka", Remedy: g.wrongPort, Permanent: true}
	g.mu.Unlock()
	_ = g.Conn.Close() // ends the read that waits
}

func (g *kafkaGuard) begun() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written
}

func (g *kafkaGuard) Close() error {
	if g.silence != nil {
		g.silence.Stop()
	}
	return g.Conn.Close()
}

func (g *kafkaGuard) Write(p []byte) (int, error) {
	g.mu.Lock()
	g.written += copy(g.request[g.written:], p)
	g.mu.Unlock()
	return g.Conn.Write(p)
}

func (g *kafkaGuard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if n > 0 && g.silence != nil {
		g.silence.Stop()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.problem != nil {
		g.problem.Err = err
		return 0, g.problem
	}
	if fault := g.follow(p[:n]); fault != "" {
		_ = g.Conn.Close()
		if g.isAlert() {
			// the words of kafka-go
			return 0, fmt.Errorf("%s: %w: broker appears to be expecting TLS", g.addr, io.ErrUnexpectedEOF)
		}
		return 0, &Problem{
			Cause: fmt.Sprintf("%s sends no responses of Kafka: %s", g.addr, fault), Remedy: g.wrongPort,
			Permanent: !g.answered,
			Err:       fmt.Errorf("a response of %s: %s", g.addr, fault),
		}
	}
	return n, err
}

// isAlert says whether the server began with an alert of TLS (RFC 8446, section 5.1): it expects TLS, and has
// refused the request without it.
func (g *kafkaGuard) isAlert() bool { return !g.answered && g.head[0] == 21 && g.head[1] == 3 }

// follow checks the frames in bytes that were received. It returns what is wrong with them, "" if nothing is.
func (g *kafkaGuard) follow(b []byte) string {
	for len(b) > 0 {
		if g.left > 0 && g.got == g.headBytes() {
			n := min(g.left, int64(len(b)))
			b, g.left = b[n:], g.left-n
			g.next()
			continue
		}
		n := copy(g.head[g.got:g.headBytes()], b)
		b, g.got = b[n:], g.got+n
		if fault := g.check(); fault != "" {
			return fault
		}
		g.next()
	}
	return ""
}

// headBytes is how much of a response is looked at.
func (g *kafkaGuard) headBytes() int {
	if !g.answered && g.isVersions() {
		return 14
	}
	return 8
}

// isVersions says whether the first request asks for the versions of the broker, in the form whose answer is
// a list of elements of one size.
func (g *kafkaGuard) isVersions() bool {
	const apiVersions = 18
	return g.written == len(g.request) && binary.BigEndian.Uint16(g.request[4:]) == apiVersions &&
		binary.BigEndian.Uint16(g.request[6:]) == 0
}

// check checks the beginning of a response as far as it has come.
func (g *kafkaGuard) check() string {
	if g.got < 4 {
		return ""
	}
	size := int64(int32(binary.BigEndian.Uint32(g.head[:])))
	if least := int64(g.headBytes() - 4); size < 4 || size > maxFrameBytes || !g.answered && size < least {
		return fmt.Sprintf("it begins with %q, a size of %d bytes", g.head[:4], size)
	}
	if g.got < g.headBytes() {
		return ""
	}
	g.left = size - int64(g.headBytes()-4)
	if g.answered || g.written < len(g.request) {
		return ""
	}
	if number := binary.BigEndian.Uint32(g.head[4:]); number != binary.BigEndian.Uint32(g.request[8:]) {
		return fmt.Sprintf("it answers request %d, which was not sent", int32(number))
	}
	if g.isVersions() {
		if n := int64(int32(binary.BigEndian.Uint32(g.head[10:]))); n < 0 || n*6 != g.left {
			return fmt.Sprintf("a list claims %d elements in %d bytes", n, g.left)
		}
	}
	return ""
}

// next begins the next response if the present one has ended.
func (g *kafkaGuard) next() {
	if g.got == g.headBytes() && g.left == 0 {
		g.answered, g.got = true, 0
	}
}
