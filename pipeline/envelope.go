package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// envelope says where a system that wraps each article in a JSON object of its own puts the article.
type envelope struct {
	within  []string          // paths of the article in the value, in their order; "" is the value itself
	headers map[string]string // for a field of FieldConfig, the record header that names it
	deletes []member          // a value with such a string at the path reports that an article was deleted
}

// isDeleted is the value at the path of a deletion.
func isDeleted(path, value string) member {
	return member{path, gjson.Result{Type: gjson.String, Str: value}}
}

// envelopes are the values of DecodeConfig.Preset. Sources: the JSON converter of Kafka Connect with schemas.enable, Debezium's data change
// events (its MongoDB connector writes a document as a string, which @fromstr reads), CloudEvents 1.0 in structured and binary mode of its
// Kafka binding, and change streams of MongoDB's own connector.
var envelopes = map[string]envelope{
	"connect": {within: []string{"payload"}},
	"debezium": {
		within:  []string{"payload.after", "after", "payload.after.@fromstr", "after.@fromstr"},
		deletes: []member{isDeleted("payload.op", "d"), isDeleted("op", "d")},
	},
	"cloudevents": {
		within:  []string{"data", ""},
		headers: map[string]string{"id": "ce_id", "publisher": "ce_source"},
	},
	"mongo": {
		within:  []string{"fullDocument", "payload.fullDocument", "fullDocument.@fromstr", "payload.@fromstr.fullDocument"},
		deletes: []member{isDeleted("operationType", "delete"), isDeleted("payload.operationType", "delete")},
	},
}

// Presets are the values of DecodeConfig.Preset, without "".
func Presets() []string { return slices.Sorted(maps.Keys(envelopes)) }

// headerPath begins a path that leads to a record header: header:ce_id.
const headerPath = "header:"

// paths are the lists that Decode tries. A list of FieldConfig that is the default is looked for within the envelope of the preset. A list of the
// user is taken as it is.
func (c *DecodeConfig) paths() FieldConfig {
	e, known := envelopes[c.Preset]
	if !known {
		return c.Fields
	}
	defaults := DefaultDecodeConfig().Fields
	within := func(field string, paths, standard []string) []string {
		if !slices.Equal(paths, standard) {
			return paths
		}
		var all []string
		for _, place := range e.within {
			for _, path := range paths {
				all = append(all, strings.TrimPrefix(place+"."+path, "."))
			}
		}
		if name, ok := e.headers[field]; ok {
			all = append(all, headerPath+name)
		}
		return all
	}
	return FieldConfig{
		ID:        within("id", c.Fields.ID, defaults.ID),
		Title:     within("title", c.Fields.Title, defaults.Title),
		Text:      within("text", c.Fields.Text, defaults.Text),
		Publisher: within("publisher", c.Fields.Publisher, defaults.Publisher),
		URL:       within("url", c.Fields.URL, defaults.URL),
	}
}

// deletes says whether a value reports that an article was deleted. Such a record is treated as one with a null value.
func (c *DecodeConfig) deletes(o *object) bool {
	return slices.ContainsFunc(envelopes[c.Preset].deletes, func(d member) bool {
		v := o.get(d.name)
		return v.Type == gjson.String && v.Str == d.value.Str
	})
}

func validatePreset(name string) error {
	if _, known := envelopes[name]; !known && name != "" {
		return fmt.Errorf("preset: %q is not one of %s", name, strings.Join(Presets(), ", "))
	}
	return nil
}
