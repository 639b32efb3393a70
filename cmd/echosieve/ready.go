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
		Use:   "ready",
		Short: "Tell whether the service that runs on this machine is ready",
		Long: `Ready requests /readyz at http.listen. The exit code is 0 if the service is ready, else 2. Containers use it as
their health check, because the image holds no other program.`,
		Example: "  echosieve ready --config echosieve.yaml",
		Args:    command.NoArgs,
	}
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), readyTimeout)
		defer cancel()
		answer, err := access.Ask(ctx, cfg.HTTP, "/readyz")
		if err != nil {
			return fmt.Errorf("is the service running? %w", err)
		}
		defer answer.Body.Close()
		if _, err := io.Copy(cmd.OutOrStdout(), io.LimitReader(answer.Body, 1<<16)); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		switch answer.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusUnauthorized:
			return errors.New("/readyz needs a login: set http.token_file, or leave /readyz in http.open")
		}
		return fmt.Errorf("not ready: %s", answer.Status)
	}, "http")
}
