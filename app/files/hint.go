package files

import (
	"strings"

	"github.com/tidwall/gjson"
)

const (
	namesDepth  = 5  // members of members that are named
	mostNames   = 12 // that a message lists
	longestName = 40 // in bytes
)

// membersOf names the members of an object without a text, which may be cut off, and says how its articles are read.
func membersOf(value []byte) string {
	names := pathsOf(nil, "", gjson.ParseBytes(value), namesDepth)
	said := has(names)
	for _, name := range names {
		if list, _, found := strings.Cut(name, "[]"); found {
			return said + "; of articles in a list: type jq -c '." + list + "[]' FILE and pipe it into this command"
		}
	}
	return said
}

// pathsOf appends the paths of an object's members to names. Those of a list's elements have [] behind the list.
func pathsOf(names []string, within string, object gjson.Result, depth int) []string {
	object.ForEach(func(name, v gjson.Result) bool {
		path := within + name.Str
		if first := v.Get("0"); v.IsArray() && first.IsObject() {
			path, v = path+"[]", first
		}
		before := len(names)
		if v.IsObject() && depth > 1 {
			names = pathsOf(names, path+".", v, depth-1)
		}
		if len(names) == before {
			names = append(names, path)
		}
		return len(names) <= mostNames
	})
	return names
}

// has lists the names of members or columns, and how the one that holds the text is named.
func has(names []string) string {
	if len(names) > mostNames {
		names = append(names[:mostNames:mostNames], "...")
	}
	var short []string
	for _, n := range names {
		short = append(short, n[:min(len(n), longestName)])
	}
	return "it has " + strings.Join(short, ", ") + ": --input.fields.text NAME, with the name of the text"
}
