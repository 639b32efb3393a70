package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/access"
	"echosieve/app/command"
	"echosieve/app/config"
)

// readyTimeout bounds the request and its answer.
const readyTimeout = 4 * time.Second

func newReadyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ready",
		GroupID: groupService,
		Short:   "Tell whether the service that runs on this machine is ready",
		Long: `Ready requests /readyz at http.listen. The exit code is 0 if the service is ready, else 2. Containers use it as
their health check, because the image holds no other program.`,
		Example: "  echosieve ready --config echosieve.yaml",
		Args:    command.NoArgs,
	}
	config.AddFlags(cmd.Flags(), "http")
	cmd.RunE = command.Configured(func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		return requestReady(cmd.Context(), cfg.HTTP, cmd.OutOrStdout())
	})
	return cmd
}

// requestReady prints the answer of /readyz. It returns an error unless a service listens at this address and is ready.
func requestReady(ctx context.Context, cfg config.HTTPConfig, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	answer, err := access.Ask(ctx, cfg, "/readyz")
	if err != nil {
		return fmt.Errorf("is the service running? %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(answer.Body, 1<<16)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return errors.New("/readyz needs a login: set http.token_file, or leave /readyz in http.open")
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", answer.Status)
	}
	return nil
}
