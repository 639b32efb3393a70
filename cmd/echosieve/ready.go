package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
)

// readyTimeout bounds the request and its answer.
const readyTimeout = 4 * time.Second

func newReadyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ready",
		GroupID: groupService,
		Short:   "Tell whether the service that runs on this machine is ready",
		Long: `Ready requests /readyz at http.listen. The exit code is 0 if the service is ready, else 2. Containers use it as their health
check, because the image holds no other program.`,
		Example: "  echosieve ready --config echosieve.yaml",
		Args:    command.NoArgs,
	}
	config.AddFlags(cmd.Flags(), "http")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		return requestReady(cmd.Context(), cfg.HTTP.Listen, cmd.OutOrStdout())
	}
	return cmd
}

// requestReady prints the answer of /readyz. It returns an error unless a service listens at this address and is ready.
func requestReady(ctx context.Context, listen string, out io.Writer) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // the service listens on all addresses of this machine
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	transport := &http.Transport{} // the zero value ignores HTTP_PROXY, which http.DefaultTransport would use
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("is the service running? %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(answer.Body, 1<<16)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", answer.Status)
	}
	return nil
}
