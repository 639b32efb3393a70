package main

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
)

// look reads files in the forms that produce recognises. A line that is no article is reported and makes the
// exit code 1.
func TestLookReadsFiles(t *testing.T) {
	redis := "--redis.addrs=" + miniredis.RunT(t).Addr()
	const one = `{"id":"a","text":"The harbour board voted to deepen the eastern channel."}`
	for _, c := range []struct {
		name, file string
		verdicts   string
		code       int
		errOut     string
	}{
		{"one.json", one, `["unique"]`, command.ExitOK, ""},
		{"list.json", "[" + one + ",\n" + one + "]", `["unique","unique"]`, command.ExitOK, ""},
		{"table.csv", "id,text\na,The harbour board voted.\nb,--\n", `["unique","dead"]`, command.ExitNo,
			"dead letter"},
		{"cut.jsonl", one + "\n" + `{"id":"b","te`, `["unique"]`, command.ExitNo, "1 bad line left out"},
	} {
		// Of values in Avro, files hold the JSON.
		code, out, errOut := echosieve(t, "", "look", redis, "--json", "--input.format", "avro", "--input.framing",
			"confluent",
			"--input.registry.urls", "http://127.0.0.1:1", commandtest.File(t, c.name, c.file))
		require.Equal(t, c.code, code, "%s: %s", c.name, errOut)
		require.JSONEq(t, c.verdicts, gjson.Get(out, "articles.#.verdict").Raw, c.name)
		require.Contains(t, errOut, c.errOut, c.name)
	}
}
