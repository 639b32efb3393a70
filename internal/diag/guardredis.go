package diag

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Bounds of a reply of Redis that a connection lets through. The largest replies of the index are lists of
// some thousand entries.
const (
	maxBulkBytes  = 128 << 20 // of a string
	maxElements   = 4 << 20   // that are claimed and not there yet, of all arrays that are open
	maxArrayDepth = 32        // go-redis reads arrays recursively
	maxSizeDigits = 20
)

// GuardRedis returns a connection on which the replies of a server are checked before go-redis reads them:
// go-redis allocates what a string or an array claims to hold. An error names the address, and is a *Problem.
// wrongPort is the remedy for a server of another kind.
func GuardRedis(conn net.Conn, addr, wrongPort string) net.Conn {
	g := redisGuard{Conn: conn, addr: addr, wrongPort: wrongPort}
	if raw, ok := conn.(syscall.Conn); ok { // go-redis looks there whether a pooled connection still lives
		return &rawRedisGuard{redisGuard: g, raw: raw}
	}
	return &g
}

type rawRedisGuard struct {
	redisGuard
	raw syscall.Conn
}

func (g *rawRedisGuard) SyscallConn() (syscall.RawConn, error) { return g.raw.SyscallConn() }

// redisGuard follows the replies of one connection, in both versions of the protocol: go-redis speaks the
// third with sentinels. Read is for one goroutine at a time.
type redisGuard struct {
	net.Conn
	addr, wrongPort string

	kind    byte    // of the value whose first line is being read; 0: the next byte begins a value
	size    []byte  // the first line of a string or an array, without its kind and its end
	skip    int64   // bytes of a string, with its line end, that are still to come
	open    []int64 // elements that are still to come, of each open array
	claimed int64   // their sum
	replied bool    // a reply was whole
}

func (g *redisGuard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if fault := g.follow(p[:n]); fault != "" {
		_ = g.Close()
		return 0, &Problem{
			Cause: fmt.Sprintf("%s sends no replies of Redis: %s", g.addr, fault), Remedy: g.wrongPort,
			Permanent: !g.replied,
			Err:       fmt.Errorf("a reply of %s: %s", g.addr, fault),
		}
	}
	return n, err
}

// follow checks the values in bytes that were received. It returns what is wrong with them, "" if nothing is.
func (g *redisGuard) follow(b []byte) string {
	for len(b) > 0 {
		if g.skip > 0 {
			n := min(g.skip, int64(len(b)))
			if b, g.skip = b[n:], g.skip-n; g.skip == 0 {
				g.ended()
			}
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case g.kind == 0:
			switch c {
			case '+', '-', ':', '$', '*', '_', '#', ',', '(', '=', '!', '%', '~', '>', '|':
				g.kind, g.size = c, g.size[:0]
			default:
				return fmt.Sprintf("a reply begins with %q", append([]byte{c}, b[:min(len(b), 15)]...))
			}
		case c == '\n':
			if fault := g.line(); fault != "" {
				return fault
			}
		case !isString(g.kind) && !isArray(g.kind): // the line of a status, an error or a number
		case len(g.size) > maxSizeDigits:
			return "a size has no end"
		default:
			g.size = append(g.size, c)
		}
	}
	return ""
}

// isString says whether a value of a kind has a length in bytes.
func isString(kind byte) bool { return kind == '$' || kind == '=' || kind == '!' }

// isArray says whether a value of a kind has a number of elements.
func isArray(kind byte) bool {
	return kind == '*' || kind == '~' || kind == '>' || kind == '%' || kind == '|'
}

// line takes the end of the first line of a value.
func (g *redisGuard) line() string {
	kind := g.kind
	g.kind = 0
	if !isString(kind) && !isArray(kind) {
		g.ended()
		return ""
	}
	text := string(g.size)
	if len(text) > 0 && text[len(text)-1] == '\r' {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if kind == '%' || kind == '|' { // pairs; those of an attribute stand before the value to which it belongs
		n *= 2
	}
	if kind == '|' {
		n++
	}
	switch {
	case err != nil || n < -1:
		return fmt.Sprintf("a size is %q", text)
	case isString(kind) && n > maxBulkBytes:
		return fmt.Sprintf("a string claims %d bytes", n)
	case isArray(kind) && (n > maxElements || g.claimed+n > maxElements):
		return fmt.Sprintf("an array claims %d elements", n)
	case isArray(kind) && n > 0 && len(g.open) == maxArrayDepth:
		return fmt.Sprintf("arrays are nested deeper than %d", maxArrayDepth)
	case isString(kind) && n >= 0:
		g.skip = n + int64(len("\r\n"))
	case isArray(kind) && n > 0:
		g.open = append(g.open, n)
		g.claimed += n
	default: // null, or empty
		g.ended()
	}
	return ""
}

// ended takes the end of a value, and of the arrays of which it is the last one.
func (g *redisGuard) ended() {
	for len(g.open) > 0 {
		last := len(g.open) - 1
		g.open[last]--
		g.claimed--
		if g.open[last] > 0 {
			return
		}
		g.open = g.open[:last]
	}
	g.replied = true
}
