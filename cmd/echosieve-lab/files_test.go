package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
)

// bench and eval read files in the forms that produce recognises, by the configured names of fields, also if
// the input topic holds Avro.
func TestFormsOfFiles(t *testing.T) {
	const a = "The harbour board voted on Monday to deepen the eastern channel by two metres before the winter."
	const b = "Foresters in the north count rare beetles every second summer, by hand and in pairs."
	quote := func(text string) string {
		out, err := json.Marshal(text)
		require.NoError(t, err)
		return string(out)
	}
	for form, text := range map[string]string{
		"lines":  `{"id":"a","story":` + quote(a) + "}\n" + `{"id":"b","story":` + quote(b) + "}\n",
		"list":   `[{"id":"a","story":` + quote(a) + "},\n" + `{"id":"b","story":` + quote(b) + "}]\n",
		"pretty": "{\n\"id\":\"a\",\n\"story\":" + quote(a) + "}\n{\"id\":\"b\",\"story\":" + quote(b) + "}\n",
		"csv":    "id,story\na," + quote(a) + "\nb," + quote(b) + "\n",
	} {
		file := commandtest.File(t, form, text)
		for figure, args := range map[string][]string{
			"articles": {"bench", "--rounds", "1", file},
			"docs":     {"eval", "threshold", "--docs", file},
		} {
			if args = append(args, "--json", "--input.fields.text", "story"); form == "csv" {
				args = append(args, "--input.format", "avro", "--input.framing", "confluent", "--input.registry.urls",
					"http://127.0.0.1:1")
			}
			code, out, errOut := lab(t, args...)
			require.Equal(t, command.ExitOK, code, "%s of %s: %s", args[0], form, errOut)
			require.EqualValues(t, 2, gjson.Get(out, figure).Int(), "%s of %s", args[0], form)
		}
	}
}
