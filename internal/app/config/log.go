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
	log, _ := c.NewAdjustableLogger(w)
	return log
}

// NewAdjustableLogger is NewLogger, and also returns the logger's level, which may be set while the logger is used.
func (c LogConfig) NewAdjustableLogger(w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.SlogLevel())
	options := &slog.HandlerOptions{Level: level}
	if c.Format == LogJSON {
		return slog.New(slog.NewJSONHandler(w, options)), level
	}
	return slog.New(slog.NewTextHandler(w, options)), level
}

// SlogLevel returns the least level that is written. The configuration must be valid.
func (c LogConfig) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // Validate has refused unknown levels
	return level
}
