package decode

import (
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"

	"echosieve/test/host"
)

const most = 1 << 20

const story = `{"type":"record","name":"Story","namespace":"press","fields":[
	{"name":"id","type":"long"},{"name":"text","type":["null","string"]},
	{"name":"tags","type":{"type":"array","items":"string"}},
	{"name":"by","type":{"type":"record","name":"Person","fields":[{"name":"name","type":"string"},
	{"name":"editor","type":["null","Person"]}]}},
	{"name":"also","type":"press.Person"},{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["NEWS","FLASH"]}},
	{"name":"more","type":{"type":"map","values":["double","boolean","float"]}},
	{"name":"hash","type":{"type":"fixed","name":"Hash","size":3}},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"raw","type":"bytes"},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"nothing","type":{"type":"array","items":"int"}}]}`

// A value that the library writes is read with everything in it.
func TestAvroAsJSON(t *testing.T) {
	person := map[string]any{"name": "a\"b\\c\n\x01", "editor": map[string]any{"name": "港务局", "editor": nil}}
	value := map[string]any{
		"id": int64(-77), "text": "The harbour board voted.", "tags": []string{"x", ""}, "by": person,
		"also": map[string]any{"name": "", "editor": nil},
		"kind": "FLASH", "more": map[string]any{"d": 1.5}, "hash": []byte("abc"), "price": big.NewRat(-12345, 100),
		"raw": []byte("é"),
		"at":  int64(1700000000000), "nothing": []int{},
	}
	written, err := avro.MustParse(story).Encode(value)
	require.NoError(t, err)
	schema, err := ParseSchema(story)
	require.NoError(t, err)
	got, err := schema.JSON(written, most)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":-77,"text":"The harbour board voted.","tags":["x",""],
		"by":{"name":"a\"b\\c\n\u0001","editor":{"name":"港务局","editor":null}},"also":{"name":"","editor":null},
		"kind":"FLASH","more":{"d":1.5},
		"hash":"abc","price":-123.45,"raw":"é","at":1700000000000,"nothing":[]}`, string(got))

	for _, cut := range []int{0, 1, 5, len(written) - 1} {
		_, err := schema.JSON(written[:cut], most)
		require.ErrorIs(t, err, errCutOff)
	}
	_, err = schema.JSON(append(written, 0), most)
	require.ErrorContains(t, err, "1 bytes follow")
}

// Types of schemas that another one names are found, and a type without a namespace within one is its neighbour.
func TestReferencesOfSchemas(t *testing.T) {
	author := `{"type":"record","name":"Author","namespace":"people","fields":[{"name":"name","type":"string"}]}`
	main := `{"type":"record","name":"Story-1","namespace":"press","fields":[
		{"name":"by","type":"people.Author"},{"name":"text","type":"string"}]}`
	_, err := ParseSchema(main)
	require.Error(t, err)
	schema, err := ParseSchema(main, author)
	require.NoError(t, err)
	got, err := schema.JSON([]byte("\x04Jo\x02x"), most)
	require.NoError(t, err)
	require.JSONEq(t, `{"by":{"name":"Jo"},"text":"x"}`, string(got))
	for _, wrong := range []string{"", "{}", `"strin"`, `{"type":"record","name":"a"}`,
		strings.Repeat(`{"type":"array","items":`, 5000)} {
		_, err := ParseSchema(wrong)
		require.Error(t, err, wrong)
	}
}

// hostile are values that claim more than they hold, each with its schema.
func hostile() map[string]struct {
	schema string
	value  []byte
} {
	long := func(numbers ...int64) (b []byte) {
		for _, n := range numbers {
			b = binary.AppendVarint(b, n)
		}
		return b
	}
	type one = struct {
		schema string
		value  []byte
	}
	nulls := `{"type":"array","items":"null"}`
	empty := `{"type":"array","items":{"type":"record","name":"r","fields":[]}}`
	tree := `{"type":"record","name":"a0","fields":[]}`
	for i := range 40 { // each level holds the one below twice
		name := string(rune('a'+i%26)) + strings.Repeat("x", i)
		inner := "b" + name
		tree = `{"type":"record","name":"` + inner + `","fields":[{"name":"l","type":` + tree +
			`},{"name":"r","type":"` + nameOf(tree) + `"}]}`
	}
	return map[string]one{
		"2^60 nulls":               {nulls, long(1 << 60)},
		"2^60 nulls, with a size":  {nulls, long(-1<<60, 8)},
		"least count":              {nulls, long(-1<<63, 0)},
		"2^60 empty records":       {empty, long(1 << 60)},
		"lists of a million nulls": {`{"type":"array","items":` + nulls + `}`, long(1000, 1<<20, 0, 1<<20, 0)},
		"2^60 entries":             {`{"type":"map","values":"null"}`, long(1 << 60)},
		"string of 2^60":           {`"string"`, long(1 << 60)},
		"string of less than none": {`"string"`, long(-5)},
		"bytes of 2^60":            {`"bytes"`, long(1 << 60)},
		"depth": {`{"type":"record","name":"r","fields":[{"name":"n","type":["null","r"]}]}`,
			[]byte(strings.Repeat("\x02", 1<<20))},
		"contains itself": {
			`{"type":"record","name":"r","fields":[{"name":"n","type":"r"},{"name":"m","type":"r"}]}`, nil},
		"2^40 records in none": {tree, nil},
		"branch":               {`["null","int"]`, long(2)},
		"branch below":         {`["null","int"]`, long(-1)},
		"symbol":               {`{"type":"enum","name":"e","symbols":["A"]}`, long(7)},
		"long without end":     {`"long"`, []byte(strings.Repeat("\xff", 20))},
		"decimal of a megabyte": {`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`,
			append(long(1<<20), make([]byte, 1<<20)...)},
	}
}

func nameOf(record string) string {
	_, after, _ := strings.Cut(record, `"name":"`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// What a value claims takes neither memory nor time.
func TestHostileAvro(t *testing.T) {
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			schema, err := ParseSchema(c.schema)
			require.NoError(t, err)
			var got []byte
			allocated := host.Allocated(func() { got, err = schema.JSON(c.value, most) })
			if name == "decimal of a megabyte" {
				require.NoError(t, err)
				require.LessOrEqual(t, len(got), 7*len(c.value))
				return
			}
			require.Error(t, err)
			require.LessOrEqual(t, allocated, uint64(8*most))
		})
	}
}

// Whatever the bytes are, the result is JSON of bounded length or an error. What the library can read is read.
func FuzzAvro(f *testing.F) {
	f.Add(story, []byte("\x01\x02\x02x\x00"))
	for _, c := range hostile() {
		f.Add(c.schema, c.value[:min(len(c.value), 1000)])
	}
	f.Add(`["null",{"type":"map","values":{"type":"fixed","name":"f","size":2}}]`, []byte("\x02\x02\x02k\xff\"\x00"))
	f.Fuzz(func(t *testing.T, text string, value []byte) {
		schema, err := ParseSchema(text)
		if err != nil {
			return
		}
		const most = 1 << 16
		got, err := schema.JSON(value, most)
		if err != nil {
			return
		}
		if len(got) > 2*most+8*len(value) {
			t.Fatalf("%d bytes of %d", len(got), len(value))
		}
		if !json.Valid(got) {
			t.Fatalf("%q of %q is no JSON: %q", value, text, got)
		}
	})
}
