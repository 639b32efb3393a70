package deploy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"echosieve/internal/app/config"
	"echosieve/internal/app/config/schema"
	"echosieve/test/repo"
)

var update = flag.Bool("update", false, "rewrite deploy/helm/values.schema.json instead of comparing it")

// object is a JSON schema, or a part of one.
type object = map[string]any

// section is an object with no other members than those of properties.
func section(properties object) object {
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

// settingsSchema is the schema of the service's settings. Secrets are left out: the chart would put them into a
// ConfigMap, which more people may read than a Secret.
func settingsSchema() object {
	root := section(object{})
	for _, k := range config.Schema().Keys() {
		if k.Secret {
			continue
		}
		parts := strings.Split(k.Name, ".")
		at := root["properties"].(object)
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = section(object{})
			}
			at = at[part].(object)["properties"].(object)
		}
		at[parts[len(parts)-1]] = settingSchema(k)
	}
	return root
}

func settingSchema(k schema.Key) object {
	switch k.Type() {
	case "bool":
		return object{"type": "boolean"}
	case "list":
		return object{"type": "array", "items": object{"type": "string"}}
	case "size": // Helm writes a large number as 1.048576e+06, which is no size
		return object{"type": []string{"integer", "string"}, "maximum": 999_999,
			"pattern": "^[0-9.]+ ?[kKmMgGtT]?i?[bB]?$"}
	case "duration":
		return object{"type": "string", "pattern": `^-?([0-9.]+(ns|us|ms|s|m|h|d|w))+$`}
	case "int", "float":
		number := object{"type": map[string]string{"int": "integer", "float": "number"}[k.Type()]}
		var bounds []float64
		for part := range strings.SplitSeq(strings.ReplaceAll(k.Range, "..", ","), ",") {
			if n, err := strconv.ParseFloat(part, 64); err == nil {
				bounds = append(bounds, n)
			}
		}
		if len(bounds) > 0 {
			number["minimum"], number["maximum"] = slices.Min(bounds), slices.Max(bounds)
		}
		return number
	default:
		return object{"type": "string"}
	}
}

// valueSchema is the schema of a value of the chart with the type of its default. Objects that are empty by default, and
// those of open, take any member.
func valueSchema(path string, value any) object {
	open := []string{"resources", "dashboards.labels"}
	switch v := value.(type) {
	case bool:
		return object{"type": "boolean"}
	case int:
		return object{"type": "integer", "minimum": 0}
	case []any:
		list := object{"type": "array"}
		if len(v) > 0 {
			list["items"] = valueSchema(path, v[0])
		}
		return list
	case map[string]any:
		if len(v) == 0 || slices.Contains(open, path) {
			return object{"type": "object"}
		}
		properties := object{}
		for name, member := range v {
			properties[name] = valueSchema(strings.TrimPrefix(path+"."+name, "."), member)
		}
		return section(properties)
	default:
		if _, err := strconv.Atoi(value.(string)); err == nil {
			return object{"type": []string{"string", "integer"}}
		}
		return object{"type": "string"}
	}
}

// TestHelmSchema holds the schema of the chart's values to the defaults of the chart and to the settings of the service.
func TestHelmSchema(t *testing.T) {
	chart := filepath.Join(repo.Root(t), "deploy/helm")
	decode := func(text []byte) (values map[string]any) {
		require.NoError(t, yaml.Unmarshal(text, &values))
		return values
	}
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	root := valueSchema("", decode(text))
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["properties"].(object)["settings"] = settingsSchema()
	root["properties"].(object)["global"] = object{"type": "object"} // Helm's own
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(root))
	path := filepath.Join(chart, "values.schema.json")
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "run: go test ./test/deploy -run TestHelmSchema -update")

	compiled, err := jsonschema.NewCompiler().Compile(path)
	require.NoError(t, err)
	validate := func(text []byte) error {
		data, err := json.Marshal(decode(text))
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		return compiled.Validate(value)
	}
	require.NoError(t, validate(text))
	require.NoError(t, validate([]byte(everyValue)))
	require.NoError(t, validate([]byte(
		"settings: {kafka: {max_message_bytes: 8MiB}, window: 7d, detection: {near: 0.5, user_dictionary: words}}")))
	for mistake, place := range map[string]string{
		"setings: {window: 24h}":                         "setings",
		"replicas: two":                                  "replicas",
		"networkPolicy: {ports: [kafka]}":                "ports",
		"networkPolicy: {port: [9092]}":                  "port",
		"settings: {windw: 24h}":                         "windw",
		"settings: {kafka: {brokers: kafka:9092}}":       "brokers",
		"settings: {kafka: {partitions: 0}}":             "partitions",
		"settings: {detection: {near: 1.5}}":             "near",
		"settings: {window: 24}":                         "window",
		"settings: {kafka: {max_message_bytes: 8 megs}}": "max_message_bytes",
		"settings: {redis: {password: secret}}":          "password",
		"settings: {http: {console: yes please}}":        "console",
	} {
		require.ErrorContains(t, validate([]byte(mistake)), place, mistake)
	}
}
