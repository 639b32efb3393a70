package articles

import (
	"encoding/binary"
	"encoding/json"

	"github.com/twmb/avro"
)

// AvroSchema is the schema of all values in Avro. Its text may be missing, or a list, as broken records have it.
const AvroSchema = `{"type": "record", "name": "Article", "fields": [
	{"name": "id", "type": "string"}, {"name": "title", "type": ["null", "string"]}, {"name": "source", "type": ["null", "string"]},
	{"name": "text", "type": ["null", "string", {"type": "array", "items": "string"}]}]}`

// AvroSchemas is the number of ids under which the registry must know AvroSchema, from 1 on.
const AvroSchemas = 2000

// schemaRecords is the number of records in a row that name one id. A service asks the registry for each id
// once: this often it must.
const schemaRecords = 100

var avroSchema = avro.MustParse(AvroSchema)

// asAvro returns a JSON value in Avro, in the framing of Confluent's registry. What is no JSON is no Avro, either.
func (w *Writer) asAvro(value []byte) []byte {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(1+w.number/schemaRecords%AvroSchemas))
	fields := map[string]any{"title": nil, "source": nil, "text": nil}
	if json.Unmarshal(value, &fields) != nil {
		return append(framed, value...)
	}
	framed, err := avroSchema.AppendEncode(framed, fields)
	if err != nil {
		panic(err) // every value of a writer fits the schema
	}
	return framed
}
