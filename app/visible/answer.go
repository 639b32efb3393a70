package visible

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
)

// Encode returns a value as JSON, indented, with one line break at the end.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return JSON(b.Bytes()), err
}

// Answer sends a value as JSON, for programs and for people with curl. Nobody keeps it. Browsers never take it for a
// page: it has its content type.
func Answer(w http.ResponseWriter, status int, v any, log *slog.Logger) {
	data, err := Encode(v)
	if err != nil {
		log.Error("answer not encoded", "err", err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(data); err != nil {
		log.Debug("answer not written", "err", err)
	}
}
