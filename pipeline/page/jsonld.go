package page

import (
	"strings"

	"github.com/tidwall/gjson"
)

// maxBodyDepth is how deep the text of an article lies in the data of a page: an object in a list in an object.
const maxBodyDepth = 4

// articleBody returns the text of the article that a document gives to search engines: the longest articleBody of
// its scripts of JSON-LD (schema.org). It is empty if there is none.
func articleBody(page string) (body string) {
	if !strings.Contains(page, `"articleBody"`) {
		return ""
	}
	for rest := page; ; {
		_, script, found := strings.Cut(rest, "application/ld+json")
		if !found {
			return body
		}
		end := indexFold(script, "</script>")
		if end < 0 {
			return body
		}
		data := script[:end-len("</script>")]
		rest = script[end:]
		if begin := strings.IndexByte(data, '>'); begin >= 0 {
			body = longestBody(gjson.Parse(data[begin+1:]), maxBodyDepth, body)
		}
	}
}

// longestBody returns the longest articleBody within a value of JSON, or body if that is longer.
func longestBody(value gjson.Result, depth int, body string) string {
	if depth == 0 || !value.IsObject() && !value.IsArray() {
		return body
	}
	value.ForEach(func(key, v gjson.Result) bool {
		if text := v.String(); key.Str == "articleBody" && v.Type == gjson.String && len(text) > len(body) {
			body = text
		}
		body = longestBody(v, depth-1, body)
		return true
	})
	return body
}
