// Servers runs a command beside one Kafka broker and one Redis, and builds the programs, which all tests of
// the command then share:
//
//	go run ./test/servers go test ./...
//
// It names them in ECHOSIEVE_TEST_KAFKA, ECHOSIEVE_TEST_REDIS and ECHOSIEVE_TEST_PROGRAMS, unless these are
// set already. When the command has ended, it stops the servers and deletes the programs. Its exit code is
// that of the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
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
	folder, err := os.MkdirTemp("", "echosieve-programs-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	programs, err := service.Programs(folder)
	if err == nil {
		// tests may run them as another user
		err = errors.Join(os.Chmod(folder, 0o755), os.Setenv(service.Variable, programs))
	}
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	h := host.New(ctx, cancel)
	defer h.Close()
	err = h.Do(func() {
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
