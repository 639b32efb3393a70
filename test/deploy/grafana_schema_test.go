package deploy_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/stretchr/testify/require"

	"echosieve/test/promserver"
)

// Boards are what Grafana's published types say: a misspelt field, which Grafana ignores without a word, fails here.
func TestBoardsFitGrafanasSchema(t *testing.T) {
	for _, file := range promserver.Boards(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			require.NoError(t, fits(read(t, file)))
		})
	}
}

// fits returns an error unless the board decodes strictly into the types of the Grafana Foundation SDK.
//
// The types lack three settings of annotations that Grafana reads from the board, in its Prometheus data
// source. These are checked and removed first. And version 0.0.12 of the SDK decodes a panel's fieldConfig
// loosely (except "custom"), so it is decoded again.
func fits(text []byte) error {
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	notes := raw["annotations"].(map[string]any)["list"].([]any)
	for _, n := range notes {
		note := n.(map[string]any)
		for name, zero := range map[string]any{"titleFormat": "", "textFormat": "", "useValueForTime": false} {
			if v, ok := note[name]; ok && fmt.Sprintf("%T", v) != fmt.Sprintf("%T", zero) {
				return fmt.Errorf("annotation %v: %s is a %T", note["name"], name, v)
			}
			delete(note, name)
		}
	}
	stripped, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins()
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(stripped); err != nil {
		return err
	}
	if err := d.Validate(); err != nil {
		return err
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	for _, p := range b.Panels {
		if p.FieldConfig == nil {
			continue
		}
		var config dashboard.FieldConfigSource
		if err := config.UnmarshalJSONStrict(p.FieldConfig); err != nil {
			return fmt.Errorf("panel %s: %w", p.Title, err)
		}
	}
	return nil
}
