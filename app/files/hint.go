package files

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/decode"
)

const (
	leastText = 40 // bytes: a shorter string is a name or a date, hardly the text of an article
	hintDepth = 3  // members of members that are searched for it
)

// Hint says how the articles in a JSON object that has no text under the configured names can be read; "" if
// it has none. isList says that the object holds several. Hint knows no format: the text is the longest
// string, and articles are the elements of the longest list of objects.
func Hint(value []byte, input decode.Config) (hint string, isList bool) {
	object := gjson.ParseBytes(value)
	if !gjson.ValidBytes(value) || !object.IsObject() {
		return "", false
	}
	if path, first := longestList(object, hintDepth); path != "" && len(first.Raw) >= leastText {
		hint := fmt.Sprintf("the articles seem to stand in the list %s: type jq -c '.%s[]' FILE and pipe it into "+
			"this command", path, path)
		if text := textPath(first); text != "" && !slices.Contains(input.Fields.Text, text) {
			hint += ", with " + fieldFlags(first, text)
		}
		return hint, true
	}
	if text := textPath(object); text != "" {
		hint = fmt.Sprintf("the text seems to stand under %s: add %s, and set the same for the service", text,
			fieldFlags(object, text))
	}
	return hint, false
}

// plainName is a member's name that needs no escapes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// textPath returns the path of the longest string of an object that is at least as long as a text.
func textPath(object gjson.Result) string {
	path, _ := longestString(object, hintDepth)
	return path
}

func longestString(object gjson.Result, depth int) (path string, length int) {
	length = leastText - 1
	object.ForEach(func(name, v gjson.Result) bool {
		if !plainName.MatchString(name.Str) {
			return true
		}
		switch {
		case v.Type == gjson.String && len(v.Str) > length && isProse(v.Str):
			path, length = name.Str, len(v.Str)
		case v.IsObject() && depth > 1:
			if inner, n := longestString(v, depth-1); inner != "" && n > length {
				path, length = name.Str+"."+inner, n
			}
		}
		return true
	})
	return path, length
}

// isProse says whether a string is neither an address nor a code.
func isProse(s string) bool {
	return strings.ContainsRune(s, ' ') || utf8.RuneCountInString(s) < len(s)
}

// longestList returns the path of the longest list of objects, if it is longer than the rest of the object,
// and its first element.
func longestList(object gjson.Result, depth int) (path string, first gjson.Result) {
	object.ForEach(func(name, v gjson.Result) bool {
		if !plainName.MatchString(name.Str) || 2*len(v.Raw) < len(object.Raw) {
			return true
		}
		if element := v.Get("0"); v.IsArray() && element.IsObject() {
			path, first = name.Str, element
		} else if v.IsObject() && depth > 1 {
			if inner, element := longestList(v, depth-1); inner != "" {
				path, first = name.Str+"."+inner, element
			}
		}
		return true
	})
	return path, first
}

// fieldFlags returns the flags for a text at a path, and for what stands beside it.
func fieldFlags(object gjson.Result, text string) string {
	flags := "--input.fields.text " + text
	parent := text[:strings.LastIndexByte(text, '.')+1]
	if parent == "" {
		return flags
	}
	for _, name := range []string{"title", "url"} {
		if object.Get(parent + name).Exists() {
			flags += fmt.Sprintf(" --input.fields.%s %s%s", name, parent, name)
		}
	}
	return flags
}
