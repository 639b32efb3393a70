package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/app/config/schema"
)

// The chart refuses settings that the program would refuse: with -update its schema of settings is made of the
// program's own. A pod that refused them would have replaced one that works.
func TestHelmSettings(t *testing.T) {
	const path = "../../deploy/helm/values.schema.json"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, json.Unmarshal(data, &values))
	values["properties"].(map[string]any)["settings"] = schemaOfSettings()
	made, err := json.MarshalIndent(values, "", " ")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(path, append(made, '\n'), 0o600))
		return
	}
	require.JSONEq(t, string(made), string(data), "run go test ./cmd/echosieve -run HelmSettings -update")
}

func schemaOfSettings() map[string]any {
	section := func() map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	}
	root := section()
	for _, k := range config.Schema().Keys() {
		at, path := root, strings.Split(k.Name, ".")
		for _, name := range path[:len(path)-1] {
			properties := at["properties"].(map[string]any)
			if properties[name] == nil {
				properties[name] = section()
			}
			at = properties[name].(map[string]any)
		}
		at["properties"].(map[string]any)[path[len(path)-1]] = schemaOf(k)
	}
	return root
}

// schemaOf is what values of a setting may be. A secret belongs into the Secret.
func schemaOf(k schema.Key) any {
	if k.Secret {
		return false
	}
	s := map[string]any{"type": map[string]any{"bool": "boolean", "int": "integer", "float": "number",
		"size": []any{"integer", "string"}, "duration": []any{"string", "integer"}, "list": []any{"array", "string"},
		"string": []any{"string", "number", "boolean"}}[k.Type()]}
	low, high, _ := strings.Cut(k.Range, "..")
	for name, text := range map[string]string{"minimum": low, "maximum": high} {
		if bound, err := strconv.ParseFloat(text, 64); err == nil {
			s[name] = bound
		}
	}
	return s
}
