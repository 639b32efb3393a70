// Servers runs a command beside one Kafka broker and one Redis, which all tests of the command then share:
//
//	go run ./test/servers go test ./...
//
// It names them in ECHOSIEVE_TEST_KAFKA and ECHOSIEVE_TEST_REDIS, unless these are set already, and stops them when the command has ended. Its
// exit code is that of the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"echosieve/internal/app/child"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./test/servers COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run returns the command's exit code. A signal ends the command, and then the servers.
func run(command []string) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(context.Background())
	h := host.New(ctx, cancel)
	defer h.Close()
	err := h.Do(func() {
		if os.Getenv(kafkaserver.Variable) == "" {
			_ = os.Setenv(kafkaserver.Variable, kafkaserver.Start(h, kafkaserver.V4).Addr)
		}
		if os.Getenv(redisserver.Variable) == "" {
			_ = os.Setenv(redisserver.Variable, redisserver.Start(h).Addr)
		}
	})
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // the command is the caller's
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	p, err := child.Start(cmd)
	if err != nil {
		return 0, err
	}
	select {
	case <-p.Done:
	case s := <-signals:
		_ = syscall.Kill(-p.Cmd.Process.Pid, s.(syscall.Signal)) //nolint:forcetypeassert // both are
	}
	if err := p.Err(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return 0, err
	}
	return max(p.Cmd.ProcessState.ExitCode(), -1) & 0xff, nil
}
