package visible

import (
	"encoding/json"
	"log/slog"
	"net/http"
)

// Answer sends a value as JSON that people can read with curl, too. Nobody keeps it. A client that is gone misses
// nothing. Browsers never take it for a page: it has its content type.
func Answer(w http.ResponseWriter, status int, v any, log *slog.Logger) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(JSON(data)); err != nil {
		log.Debug("answer not written", "err", err)
	}
}
