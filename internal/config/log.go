package config

import (
	"io"
	"log/slog"
)

// The values of log.format.
const (
	LogText = "text"
	LogJSON = "json"
)

// NewLogger returns a logger that writes to w. The configuration must be valid.
func (c LogConfig) NewLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // Validate has refused unknown levels
	options := &slog.HandlerOptions{Level: level}
	if c.Format == LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
