package redisindex

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline"
)

// parrot is a server that has its answers ready, one for each time that it is written to, whatever that is.
type parrot struct {
	net.Conn
	answers []string // to come
	answer  string   // what is left of the present one
}

func (p *parrot) Read(b []byte) (int, error) {
	if p.answer == "" {
		return 0, io.EOF
	}
	n := copy(b, p.answer)
	p.answer = p.answer[n:]
	return n, nil
}

func (p *parrot) Write(b []byte) (int, error) {
	if len(p.answers) > 0 {
		p.answer, p.answers = p.answer+p.answers[0], p.answers[1:]
	}
	return len(b), nil
}

func (p *parrot) Close() error                     { return nil }
func (p *parrot) SetDeadline(time.Time) error      { return nil }
func (p *parrot) SetReadDeadline(time.Time) error  { return nil }
func (p *parrot) SetWriteDeadline(time.Time) error { return nil }
func (p *parrot) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *parrot) LocalAddr() net.Addr              { return &net.TCPAddr{} }

// Whatever a server answers, a batch ends: with verdicts or with an error, never with a panic.
func FuzzReplies(f *testing.F) {
	// "~" ends an answer. Those to HELLO and CLIENT SETNAME are always good: what a failed handshake does is the client
	// library's business.
	hello := []string{"-ERR unknown command\r\n", "+OK\r\n"}
	insert := strings.Repeat(":1\r\n", 4) + ":0\r\n:1\r\n:0\r\n:1\r\n~"
	number := ":5\r\n:1\r\n~"
	ticket := "$6\r\n000005\r\n*5\r\n$1\r\n1\r\n_\r\n$-1\r\n$1\r\n2\r\n$1\r\n3\r\n~"
	for _, replies := range []string{
		"", insert, insert + number, insert + number + ticket,
		insert + number + ticket + strings.Repeat("*1\r\n$8\r\n\x00\x00\x00\x00\x00\x00\x00\x05\r\n", 12) + "~$-1\r\n~" + "$1\r\n\x01\r\n",
		insert + number + "$0\r\n\r\n*9\r\n" + strings.Repeat("$1\r\n1\r\n", 9),
		strings.Repeat("$5\r\nhello\r\n", 20), "-MOVED 1 127.0.0.1:1\r\n", "*-1\r\n", "*2147483647\r\n",
		"$2147483647\r\n", strings.Repeat("*1\r\n", 1000), "%1\r\n+server\r\n+redis\r\n+OK\r\n", ">2\r\n+a\r\n+b\r\n",
	} {
		f.Add(replies)
	}
	claim := article(1, 5)
	f.Fuzz(func(t *testing.T, replies string) {
		if longCount(replies) {
			t.Skip("the client library takes the memory that a length asks for")
		}
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second, DisableIdentity: true, ClientName: "echosieve",
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				return &parrot{answers: slices.Concat(hello, strings.Split(replies, "~"))}, nil
			},
		})
		defer client.Close()
		x, err := New(client, testConfig(standard), nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		x.loaded.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		matches, err := x.run(ctx, []pipeline.Claim{claim})
		if err == nil && len(matches) != 1 {
			t.Fatalf("%d matches", len(matches))
		}
		if ctx.Err() != nil {
			t.Fatal("the batch does not end")
		}
	})
}

// longCount says whether a length of more than 5 digits stands anywhere.
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
