package pipeline

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/record"
)

// object is a JSON object whose members were found in one pass. A search by path reads the object from its beginning, text included,
// and a record takes about ten searches. Strings in it share the memory of the whole object.
type object struct {
	gjson.Result
	members []member        // the first maxMembers, in their order
	headers []record.Header // of the record
}

// maxMembers bounds the memory for members, which take up to twenty times as much as the JSON. Articles have fewer members. Further ones
// are searched by path.
const maxMembers = 256

type member struct {
	name  string
	value gjson.Result
}

// newObject finds the members of a valid JSON object and appends them to members, which must be empty. headers are those of its record.
func newObject(json []byte, headers []record.Header, members []member) object {
	o := object{gjson.ParseBytes(json), members, headers}
	o.ForEach(func(name, value gjson.Result) bool {
		o.members = append(o.members, member{name.Str, value})
		return len(o.members) < maxMembers
	})
	return o
}

// get returns the value at a path of gjson, or the record header that the path names. Of several members or headers with one name, the
// first one counts.
func (o *object) get(path string) gjson.Result {
	if name, ok := strings.CutPrefix(path, headerPath); ok {
		return o.header(name)
	}
	if !isPlainName(path) {
		return o.Get(path)
	}
	for i := range o.members {
		if o.members[i].name == path {
			return o.members[i].value
		}
	}
	if len(o.members) == maxMembers {
		return o.Get(path)
	}
	return gjson.Result{}
}

func (o *object) header(name string) gjson.Result {
	for _, h := range o.headers {
		if h.Key == name && utf8.Valid(h.Value) {
			text := string(h.Value)
			return gjson.Result{Type: gjson.String, Raw: text, Str: text}
		}
	}
	return gjson.Result{}
}

// isPlainName says whether a path names one member and has no character with a meaning of its own.
func isPlainName(path string) bool {
	for _, c := range []byte(path) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return path != ""
}
