package config

import (
	"io"
	"log/slog"
)

// The forms of a line of the log: values of log.format.
const (
	LogText = "text"
	LogJSON = "json"
)

// NewLogger returns a logger in the form that is set. An unknown level, which Validate refuses, is info.
func (c LogConfig) NewLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level))
	options := &slog.HandlerOptions{Level: level}
	if c.Format == LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
