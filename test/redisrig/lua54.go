package redisrig

import (
	"bufio"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/test/loopback"
)

// lua54 is a server that runs scripts in Lua 5.4, as Dragonfly does; Redis has Lua 5.1. It hands all other
// commands, and those of the scripts, to a miniredis.
type lua54 struct {
	mu      sync.Mutex // one command at a time, as in Redis
	backend string
	sources map[string]string // of the scripts, by their hashes
	to      io.Writer         // Lua
	from    *bufio.Reader
}

//go:embed lua54.lua
var lua54Source string

// StartLua54 starts a server and returns its address. The server ends with the test.
func StartLua54(t testing.TB) string {
	t.Helper()
	loopback.SkipShort(t)
	program := exec.Command("lua5.4", "-e", "\n"+lua54Source) // lua takes a comment at the start for an option
	to, err := program.StdinPipe()
	require.NoError(t, err)
	from, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	s := &lua54{backend: miniredis.RunT(t).Addr(), sources: map[string]string{}, to: to, from: bufio.NewReader(from)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = listener.Close()
		_ = to.Close() // ends the program
		_ = program.Wait()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return listener.Addr().String()
}

// serve answers the commands of one connection.
func (s *lua54) serve(conn net.Conn) {
	defer conn.Close()
	backend, err := net.Dial("tcp", s.backend)
	if err != nil {
		return
	}
	defer backend.Close()
	requests, replies := bufio.NewReader(conn), bufio.NewReader(backend)
	for {
		request, err := readValue(requests)
		if err != nil {
			return
		}
		reply, err := s.answer(request.([]any), backend, replies)
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, encodeValue(reply, "\r\n")); err != nil {
			return
		}
	}
}

func (s *lua54) answer(request []any, backend io.Writer, replies *bufio.Reader) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ask := func(command []any) (any, error) {
		if _, err := io.WriteString(backend, encodeValue(command, "\r\n")); err != nil {
			return nil, err
		}
		return readValue(replies)
	}
	switch name, _ := request[0].(string); strings.ToLower(name) {
	case "script":
		if len(request) < 3 { // SCRIPT FLUSH
			clear(s.sources)
			break
		}
		if source, _ := request[2].(string); strings.EqualFold(request[1].(string), "load") {
			hash := sha1.Sum([]byte(source))
			s.sources[hex.EncodeToString(hash[:])] = source
			return hex.EncodeToString(hash[:]), nil
		}
	case "evalsha":
		source, known := s.sources[request[1].(string)]
		if !known {
			return errors.New("NOSCRIPT no such script"), nil
		}
		return s.run(append([]any{source}, request[2:]...), ask)
	}
	return ask(request)
}

// run lets Lua run a script, and runs the commands that it calls.
func (s *lua54) run(request []any, ask func([]any) (any, error)) (any, error) {
	for next := any(request); ; {
		if _, err := io.WriteString(s.to, encodeValue(next, "\n")); err != nil {
			return nil, err
		}
		said, err := readValue(s.from)
		if err != nil {
			return nil, err
		}
		switch words := said.([]any); words[0] {
		case "done":
			return words[1], nil
		case "failed":
			return errors.New("ERR " + words[1].(string)), nil
		default:
			if next, err = ask(words[1:]); err != nil {
				return nil, err
			}
		}
	}
}

// encodeValue frames a value as Redis' protocol does. An error is the reply of a command that failed.
func encodeValue(v any, end string) string {
	switch v := v.(type) {
	case nil:
		if end == "\n" {
			return "_\n"
		}
		return "$-1\r\n"
	case error:
		return "-" + v.Error() + end
	case int64:
		return ":" + strconv.FormatInt(v, 10) + end
	case string:
		return fmt.Sprintf("$%d%s%s%s", len(v), end, v, end)
	case []any:
		var b strings.Builder
		fmt.Fprintf(&b, "*%d%s", len(v), end)
		for _, x := range v {
			b.WriteString(encodeValue(x, end))
		}
		return b.String()
	}
	panic(fmt.Sprintf("a value of type %T", v))
}

// readValue reads a value, whichever line ends it has.
func readValue(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	end := len(line) - len(strings.TrimRight(line, "\r\n"))
	kind, rest := line[0], line[1:len(line)-end]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return errors.New(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '_':
		return nil, nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return nil, err
	}
	if kind == '$' {
		text := make([]byte, n+end)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = readValue(r); err != nil {
			return nil, err
		}
	}
	return list, nil
}
