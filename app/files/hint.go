package files

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	namesDepth  = 5  // members of members that are named
	mostNames   = 12 // that a message lists
	longestName = 40 // in bytes
)

// membersOf names the members of an object without a text, which may be cut off, and says how its articles are read.
func membersOf(value []byte) string {
	var m paths
	m.add("", gjson.ParseBytes(value), namesDepth)
	text, said := m.text, ""
	if list, inner, found := strings.Cut(text, "[]."); found {
		text, said = inner, "; of articles in a list: type jq -c '."+list+"[]' FILE"+pipe
	}
	return has(m.names, text) + said
}

// escaped writes a name as a part of a path.
var escaped = strings.NewReplacer(".", `\.`, "|", `\|`)

// paths are those of an object's members. Those of a list's elements have [] behind the list.
type paths struct {
	names   []string
	text    string // the path of the longest string that is no code and no address: most likely the text
	longest int    // its length, in bytes
}

func (m *paths) add(within string, object gjson.Result, depth int) {
	object.ForEach(func(name, v gjson.Result) bool {
		path := within + escaped.Replace(name.Str)
		if first := v.Get("0"); v.IsArray() && first.IsObject() {
			path, v = path+"[]", first
		}
		before := len(m.names)
		if v.IsObject() && depth > 1 {
			m.add(path+".", v, depth-1)
		}
		if len(m.names) == before {
			m.names = append(m.names, path)
		}
		prose := strings.Contains(v.Str, " ") || utf8.RuneCountInString(v.Str) < len(v.Str)
		if prose && v.Type == gjson.String && len(v.Str) > m.longest {
			m.text, m.longest = path, len(v.Str)
		}
		return len(m.names) <= mostNames
	})
}

// columnNames are parts of the names that columns of texts have, the likeliest first.
var columnNames = []string{"text", "body", "content", "article", "story", "正文", "内容", "description", "summary"}

// columnsOf names the columns of a table without a text.
func columnsOf(columns []string) string {
	for _, part := range columnNames {
		for _, c := range columns {
			if strings.Contains(strings.ToLower(c), part) {
				return has(columns, escaped.Replace(c))
			}
		}
	}
	return has(columns, "")
}

// isProse says whether a field of what may be the header of a table is rather a part of a text.
func isProse(field string) bool { return len(strings.Fields(field)) > 6 }

// has lists the names of members or columns, and how the one that most likely holds the text is named.
func has(names []string, text string) string {
	if len(names) > mostNames {
		names = append(names[:mostNames:mostNames], "...")
	}
	var short []string
	for _, n := range names {
		short = append(short, n[:min(len(n), longestName)])
	}
	if text == "" || len(text) > longestName {
		text = "NAME, with the name of the text"
	} else if strings.ContainsAny(text, " \\$&;()") { // which mean something to a shell
		text = "'" + text + "'"
	}
	return "it has " + strings.Join(short, ", ") + ": --input.fields.text " + text
}
