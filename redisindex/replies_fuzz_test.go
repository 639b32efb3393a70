package redisindex

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/test/redisrig"
)

// parrot is a server with prepared replies: it sends one each time that it receives bytes, whatever they are.
type parrot struct {
	net.Conn
	replies []string // not sent yet
	reply   string   // the unread rest of the current one
}

func (p *parrot) Read(b []byte) (int, error) {
	if p.reply == "" {
		return 0, io.EOF
	}
	n := copy(b, p.reply)
	p.reply = p.reply[n:]
	return n, nil
}

func (p *parrot) Write(b []byte) (int, error) {
	if len(p.replies) > 0 {
		p.reply, p.replies = p.reply+p.replies[0], p.replies[1:]
	}
	return len(b), nil
}

func (p *parrot) Close() error                     { return nil }
func (p *parrot) SetDeadline(time.Time) error      { return nil }
func (p *parrot) SetReadDeadline(time.Time) error  { return nil }
func (p *parrot) SetWriteDeadline(time.Time) error { return nil }
func (p *parrot) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *parrot) LocalAddr() net.Addr              { return &net.TCPAddr{} }

// dictaphone records the replies of a real server, in the form that parrot sends.
type dictaphone struct {
	net.Conn
	replies []string
}

func (d *dictaphone) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	d.replies[len(d.replies)-1] += string(b[:n])
	return n, err
}

func (d *dictaphone) Write(b []byte) (int, error) {
	d.replies = append(d.replies, "")
	return d.Conn.Write(b)
}

// handshake is the number of replies before the replies to the commands of the index: the replies to HELLO
// and CLIENT SETNAME.
const handshake = 2

// over returns an index whose client uses the given connection only.
func over(t testing.TB, cfg keyspace.Config, conn net.Conn) *Index {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", Protocol: 2, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 10 * time.Second,
		DisableIdentity: true, ClientName: "echosieve",
		Dialer: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	})
	t.Cleanup(func() { _ = client.Close() })
	x := newIndex(t, client, cfg)
	x.session = connection.NewSession(client, "") // the server has the scripts
	return x
}

// recording holds the recorded replies with which an article gets its verdict.
type recording struct {
	name    string
	kind    article.Kind
	replies string // "~" ends each
}

// record claims an article on a server that knows other articles, and records the replies.
func record(t testing.TB, c article.Article, name string, kind article.Kind, before ...article.Article) recording {
	t.Helper()
	addr, cfg := miniredis.RunT(t).Addr(), redisrig.Config(redisrig.Standard)
	for _, b := range before {
		claimOne(t, newIndex(t, redisrig.Client(t, addr), cfg), b)
	}
	require.NoError(t, connection.LoadScripts(t.Context(), redisrig.Client(t, addr), scripts...))
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	d := &dictaphone{Conn: conn}
	x := over(t, cfg, d)
	_, err = x.run(t.Context(), []article.Article{c}, newCall(x, nil))
	require.NoError(t, err)
	for _, reply := range d.replies {
		require.NotContains(t, reply, "~", "choose other articles")
	}
	return recording{name, kind, strings.Join(d.replies[handshake:], "~")}
}

func recordAll(t testing.TB, c article.Article) []recording {
	t.Helper()
	near, repeated := redisrig.Article(2, c.Fingerprint^1), redisrig.Article(3, c.Fingerprint)
	repeated.Digest = c.Digest
	return []recording{
		record(t, c, "first", article.Unique),
		record(t, c, "near copy", article.Near, near),
		record(t, c, "exact copy", article.Exact, repeated),
		record(t, c, "replay", article.Near, near, c),
	}
}

// repeatTo claims an article and lets a parrot reply.
func repeatTo(t testing.TB, c article.Article, replies string) ([]article.Verdict, error) {
	t.Helper()
	// always good: the client library handles a failed handshake
	hello := []string{"-ERR unknown command\r\n", "+OK\r\n"}
	x := over(t, redisrig.Config(redisrig.Standard),
		&parrot{replies: slices.Concat(hello, strings.Split(replies, "~"))})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	verdicts, err := x.run(ctx, []article.Article{c}, newCall(x, nil))
	if ctx.Err() != nil {
		t.Fatal("the claim does not end")
	}
	return verdicts, err
}

var fuzzed = redisrig.Article(1, 5)

// The recorded replies from which FuzzReplies starts lead through every step to a verdict.
func TestRecordedReplies(t *testing.T) {
	for _, a := range recordAll(t, fuzzed) {
		verdicts, err := repeatTo(t, fuzzed, a.replies)
		require.NoError(t, err, "%s: %q", a.name, a.replies)
		require.Equal(t, a.kind, verdicts[0].Kind, a.name)
	}
}

// Whatever a server replies, a claim ends with verdicts or with an error. It never panics.
func FuzzReplies(f *testing.F) {
	for _, a := range recordAll(f, fuzzed) {
		f.Add(a.replies)
	}
	for _, replies := range []string{
		"", strings.Repeat("$5\r\nhello\r\n", 20), "-MOVED 1 127.0.0.1:1\r\n", "*-1\r\n", "*2147483647\r\n",
		"$2147483647\r\n", strings.Repeat("*1\r\n", 1000), "%1\r\n+server\r\n+redis\r\n+OK\r\n", ">2\r\n+a\r\n+b\r\n",
	} {
		f.Add(replies)
	}
	f.Fuzz(func(t *testing.T, replies string) {
		if longCount(replies) {
			t.Skip("the client library takes the memory that a length asks for")
		}
		if verdicts, err := repeatTo(t, fuzzed, replies); err == nil && len(verdicts) != 1 {
			t.Fatalf("%d verdicts", len(verdicts))
		}
	})
}

// longCount says whether the text holds a length of more than 5 digits.
func longCount(s string) bool {
	run := -1 // digits of a length so far; -1: not in one
	for _, c := range []byte(s) {
		switch {
		case strings.IndexByte("*%>|$=!", c) >= 0:
			run = 0
		case run >= 0 && c >= '0' && c <= '9':
			if run++; run > 5 {
				return true
			}
		default:
			run = -1
		}
	}
	return false
}
