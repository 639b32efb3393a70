package files

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	hintDepth  = 3  // members of members that are searched for a text
	hintNames  = 12 // names that a message lists
	hintLength = 40 // of a name, in bytes
)

// plainName is the name of a member that needs no escapes in a path and none in a shell.
var plainName = regexp.MustCompile(`^[\p{L}\p{N}_-]{1,40}$`)

// hint says which members an object without a text has, and how its articles can be read. It knows no format: the
// text is the longest string, and articles are the elements of a list of objects that is most of the object, which
// may be cut off.
func hint(value []byte) string {
	object := gjson.ParseBytes(value)
	if path, first := longestList(object, hintDepth); path != "" {
		said := fmt.Sprintf("%s; the articles seem to stand in the list %s: type jq -c '.%s[]' FILE and pipe it into "+
			"this command", has(names(object)), path, path)
		if text := textPath(first); text != "" {
			said += fmt.Sprintf(", with %s, because %s", fieldFlags(first, text), has(names(first)))
		}
		return said
	}
	text := textPath(object)
	if text == "" {
		return has(names(object)) + ": --input.fields.text NAME, with the name of the member that holds the text"
	}
	return has(names(object)) + ": " + fieldFlags(object, text)
}

func names(object gjson.Result) (list []string) {
	object.ForEach(func(name, _ gjson.Result) bool {
		list = append(list, name.Str)
		return len(list) <= hintNames
	})
	return list
}

// has lists the names of members or columns.
func has(names []string) string {
	short := make([]string, 0, hintNames+1)
	for i, n := range names {
		if i == hintNames {
			short = append(short, "...")
			break
		}
		short = append(short, n[:min(len(n), hintLength)])
	}
	if len(short) == 0 {
		return "it has no members"
	}
	return "it has " + strings.Join(short, ", ")
}

// textNames are parts of the names that texts have, the best first.
var textNames = []string{"text", "body", "content", "article", "story", "正文", "内容", "description", "summary"}

// likelyText is the column that holds the text, as far as its name tells.
func likelyText(columns []string) string {
	for _, part := range textNames {
		for _, c := range columns {
			if strings.Contains(strings.ToLower(c), part) {
				return c
			}
		}
	}
	return "NAME, with the name of the column that holds the text"
}

// textPath returns the path of the longest string of an object.
func textPath(object gjson.Result) string {
	path, _ := longestString(object, hintDepth)
	return path
}

func longestString(object gjson.Result, depth int) (path string, length int) {
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

// longestList returns the path of a list of objects that is longer than the rest of the object, and its first
// element.
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
	for _, name := range []string{"title", "url"} {
		if parent != "" && object.Get(parent+name).Exists() {
			flags += fmt.Sprintf(" --input.fields.%s %s%s", name, parent, name)
		}
	}
	return flags
}
