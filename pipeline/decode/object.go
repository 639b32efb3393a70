package decode

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"echosieve/pipeline/record"

	"github.com/tidwall/gjson"
)

// maxDepth is the deepest nesting of a JSON value that is decoded. gjson (1.20) validates recursively: without a bound,
// a record that consists of brackets would take stack memory for each bracket, and a stack overflow ends the process.
const maxDepth = 1000

// IsObject says whether a value is a JSON object that is decoded. It takes time linear in the length of the value.
func IsObject(value []byte) bool {
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && !deeperThan(value, maxDepth) && gjson.ValidBytes(value)
}

// deeperThan reports whether brackets outside strings are nested deeper than limit.
func deeperThan(value []byte, limit int) bool {
	if bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) <= limit {
		return false
	}
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			for slashes := 1; slashes%2 == 1; { // before the mark: it does not end the string
				next := bytes.IndexByte(value[i+1:], '"')
				if next < 0 {
					return false
				}
				i += next + 1
				slashes = i - len(bytes.TrimRight(value[:i], `\`))
			}
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// object is a JSON object whose members were found in one pass. A search by path reads the object from its
// beginning, text included, and a record takes about ten searches. Strings in it share the memory of the
// whole object. Of members with one name the last one counts, as in Python, Go, JavaScript and jq; gjson (1.20)
// takes the first.
type object struct {
	members []member        // in their order
	raw     string          // the object
	headers []record.Header // of the record
}

type member struct {
	name string
	raw  string // the value as it is written
}

// newObject finds the members of a valid JSON object and appends them to members, which must be empty.
// headers are those of its record.
func newObject(value []byte, headers []record.Header, members []member) object {
	raw := string(bytes.TrimSpace(value))
	o := object{members: members, raw: raw, headers: headers}
	name, text, rest := cutMember(raw[1:])
	for ; name != ""; name, text, rest = cutMember(rest) {
		o.members = append(o.members, member{unquoted(name), text})
	}
	return o
}

// cutMember cuts the first member off the rest of a valid object. The name is empty at its end.
func cutMember(json string) (name, value, rest string) {
	if name, rest = cutValue(json); name != "" {
		value, rest = cutValue(rest)
	}
	return name, value, rest
}

// last returns the last member of a name behind others, nil if there is none.
func last(json, name string) (found *member) {
	for key, value, rest := cutMember(json); key != ""; key, value, rest = cutMember(rest) {
		if unquoted(key) == name {
			found = &member{name, value}
		}
	}
	return found
}

// cutValue cuts the first value off valid JSON, with the white space and the separators before it. It is
// empty at the end of an object. gjson (1.20) looks at each byte of a string by itself, which takes several
// times as long.
func cutValue(json string) (value, rest string) {
	json = strings.TrimLeft(json, " \t\r\n,:")
	end := 0
	switch json[0] {
	case '}':
	case '"':
		end = stringEnd(json)
	case '{', '[':
		for depth := 1; depth > 0; {
			end++
			switch json[end] {
			case '"':
				end += stringEnd(json[end:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
		}
		end++
	default:
		end = strings.IndexAny(json, ",} \t\r\n")
	}
	return json[:end], json[end:]
}

// stringEnd returns the length of the string at the beginning of valid JSON, with its quotation marks. A mark
// behind an odd number of backslashes is part of the string.
func stringEnd(json string) int {
	for end := 1; ; end++ {
		end += strings.IndexByte(json[end:], '"')
		backslashes := 0
		for json[end-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return end + 1
		}
	}
}

// escapes are the characters that stand for others behind a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoted returns the content of a string of valid JSON. Half of a surrogate pair becomes U+FFFD.
func unquoted(raw string) string {
	s := raw[1 : len(raw)-1]
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for ; at >= 0; at = strings.IndexByte(s, '\\') {
		b.WriteString(s[:at])
		s = s[at+1:]
		if s[0] != 'u' {
			b.WriteByte(escapes[s[0]])
			s = s[1:]
			continue
		}
		r := hexRune(s[1:])
		s = s[5:]
		if utf16.IsSurrogate(r) && strings.HasPrefix(s, `\u`) {
			r = utf16.DecodeRune(r, hexRune(s[2:]))
			s = s[6:]
		}
		b.WriteRune(r)
	}
	b.WriteString(s)
	return b.String()
}

// hexRune reads the four hexadecimal digits at the beginning of s.
func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 16) // valid JSON has no others
	return rune(n)
}

// parsed returns the value as gjson does.
func (m *member) parsed() gjson.Result {
	if m.raw[0] == '"' {
		return gjson.Result{Type: gjson.String, Raw: m.raw, Str: unquoted(m.raw)}
	}
	return gjson.Parse(m.raw)
}

// get returns the value at a path of gjson, or the first record header that the path names.
func (o *object) get(path string) gjson.Result {
	if name, ok := strings.CutPrefix(path, headerPath); ok {
		return o.header(name)
	}
	name, inner, nested := cutName(path)
	if name == "" {
		return searched(o.raw, path)
	}
	var m *member
	for i := len(o.members) - 1; i >= 0 && m == nil; i-- {
		if o.members[i].name == name {
			m = &o.members[i]
		}
	}
	for nested && m != nil {
		path = inner
		if name, inner, nested = cutName(path); name == "" || m.raw[0] != '{' {
			return searched(m.raw, path)
		}
		m = last(m.raw[1:], name)
	}
	if m == nil {
		return gjson.Result{}
	}
	return m.parsed()
}

// cutName cuts the first name off a path. The name is empty if only gjson understands it.
func cutName(path string) (name, inner string, nested bool) {
	name, inner, nested = strings.Cut(path, ".")
	if plain, escaped := strings.CutPrefix(name, `\$`); escaped { // of MongoDB
		if IsPlainName(plain) {
			return "$" + plain, inner, nested
		}
	}
	if !IsPlainName(name) {
		return "", "", false
	}
	return name, inner, nested
}

// searched returns the value that gjson finds at a path. gjson takes the first of several members with one name:
// the others must be gone. A value that is no UTF-8 stays, so that it is found to be none.
func searched(raw, path string) gjson.Result {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var value any
	if utf8.ValidString(raw) && d.Decode(&value) == nil {
		if once, err := json.Marshal(value); err == nil {
			raw = string(once)
		}
	}
	return gjson.Get(raw, path)
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

// IsPlainName says whether a path names one member and has no character with a meaning of its own.
func IsPlainName(path string) bool {
	for _, c := range []byte(path) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return path != ""
}

// AppendWithout appends a value that IsObject to dst, without its members of a name and without its end.
func AppendWithout(dst, object []byte, name string) []byte {
	text := string(bytes.TrimSpace(object))
	dst = append(dst, '{')
	start, left := len(dst), false
	for at := 1; ; {
		key, _, rest := cutMember(text[at:])
		if key == "" {
			return dst
		}
		member := text[at : len(text)-len(rest)] // with the comma before it
		at += len(member)
		switch {
		case unquoted(key) == name:
			left = true
		case left && len(dst) == start:
			dst = append(dst, strings.TrimLeft(member, " \t\r\n,")...)
		default:
			dst = append(dst, member...)
		}
	}
}

// AppendJSON appends a value as JSON. Markup stays as it is: escapes would make a page longer than a record may be.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
