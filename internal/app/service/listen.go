package service

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"echosieve/internal/base/diag"
)

// askTimeout bounds the question who listens at an address.
const askTimeout = 2 * time.Second

// CheckListen says whether a service could listen at the address of http.listen. If a service of Echosieve listens there already, that is
// no fault: most likely it is the one whose settings are checked.
func CheckListen(ctx context.Context, address string) diag.Finding {
	subject := "http.listen " + address
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
		return diag.New(diag.OK, subject, "free", "")
	case !errors.Is(err, syscall.EADDRINUSE):
		return diag.New(diag.Failure, subject, "the service cannot listen there: "+err.Error(), "set http.listen to an address of this machine and a port above 1023")
	case isEchosieve(ctx, address):
		return diag.New(diag.Note, subject, "a service of Echosieve is running there", "another process on this machine needs another http.listen")
	default:
		return diag.New(diag.Failure, subject, "another program uses the port", "stop that program, or set http.listen")
	}
}

// isEchosieve asks for the metrics of whoever listens at the address.
func isEchosieve(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/metrics", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(answer.Body, most))
	return strings.Contains(string(text), buildInfo+"{")
}
