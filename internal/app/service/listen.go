package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"echosieve/internal/app/access"
	"echosieve/internal/app/config"
	"echosieve/internal/base/diag"
)

// askTimeout bounds the question who listens at an address.
const askTimeout = 2 * time.Second

// CheckListen says whether a service could listen at the address of http.listen, with its login and certificates. If a service of Echosieve
// listens there already, that is no fault: most likely it is the one whose settings are checked.
func CheckListen(ctx context.Context, cfg config.HTTPConfig) diag.Finding {
	subject := "http.listen " + cfg.Listen
	if _, err := access.Load(cfg, slog.New(slog.DiscardHandler)); err != nil {
		return diag.New(diag.Failure, subject, err.Error(), "correct the file or the setting")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	switch {
	case err == nil:
		_ = listener.Close()
		return diag.New(diag.OK, subject, "free", "")
	case !errors.Is(err, syscall.EADDRINUSE):
		return diag.New(diag.Failure, subject, "the service cannot listen there: "+err.Error(), "set http.listen to an address of this machine and a port above 1023")
	case isEchosieve(ctx, cfg):
		return diag.New(diag.Info, subject, "a service of Echosieve is running there", "another process on this machine needs another http.listen")
	default:
		return diag.New(diag.Failure, subject, "another program uses the port", "stop that program, or set http.listen")
	}
}

// isEchosieve asks for the metrics of whoever listens at the address.
func isEchosieve(ctx context.Context, cfg config.HTTPConfig) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := access.Ask(ctx, cfg, "/metrics")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(answer.Body, most))
	return strings.Contains(string(text), buildInfo+"{") || strings.Contains(answer.Header.Get("WWW-Authenticate"), access.Realm)
}
