package decode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Config says how to find the article in a record's value.
type Config struct {
	Format  string `setting:"format"`
	Preset  string `setting:"preset"`
	Framing string `setting:"framing"`
	Fields  Fields `setting:"fields"`
	// Schemas are those of Avro values. They are no setting: who has the settings of a registry opens them.
	Schemas Schemas `setting:"-"`
	// MaxBytes is the size of the largest value without compression, in bytes: kafka.max_message_bytes. 0: 1 MiB.
	MaxBytes int `setting:"-"`
	// Memory bounds the values that are decoded at a time. All copies of the settings share it. nil: no bound.
	Memory *Memory `setting:"-"`
	// FindPublished asks for Content.Published and Content.Credit. Only stories need them.
	FindPublished bool `setting:"-"`
}

// defaultMaxBytes is Config.MaxBytes in programs that set none.
const defaultMaxBytes = 1 << 20

// maxBytes is the size of the largest decompressed value.
func (c *Config) maxBytes() int { return cmp.Or(c.MaxBytes, defaultMaxBytes) }

// Fields lists, for each field of an article, the dotted paths to try in a JSON value, in their order.
//
// A path that begins with "header:" leads to a record header.
type Fields struct {
	ID        []string `setting:"id"`
	Title     []string `setting:"title" help:"Paths of the title. It does not affect verdicts."`
	Text      []string `setting:"text" help:"Paths of the text. The first that exists must be a string."`
	Publisher []string `setting:"publisher" help:"Paths of the publisher's name."`
	URL       []string `setting:"url"`
	Published []string `setting:"published"`
	Credit    []string `setting:"credit"`
}

// lists are the lists of all fields.
func (f *Fields) lists() []*[]string {
	return []*[]string{&f.ID, &f.Title, &f.Text, &f.Publisher, &f.URL, &f.Published, &f.Credit}
}

// Paths returns the paths of all fields.
func (f *Fields) Paths() (all []string) {
	for _, paths := range f.lists() {
		all = append(all, *paths...)
	}
	return all
}

// The values of Config.Format.
const (
	FormatJSON = "json"
	FormatAvro = "avro"
	FormatText = "text"
	FormatHTML = "html"
)

// The values of Config.Framing.
const (
	FramingNone      = "none"
	FramingConfluent = "confluent"
)

// DefaultConfig reads JSON with the field names that most crawlers use.
func DefaultConfig() Config {
	return Config{
		Format: FormatJSON,
		Fields: Fields{
			ID:        []string{"id", "_id", "url"},
			Title:     []string{"title"},
			Text:      []string{"text", "content", "body"},
			Publisher: []string{"source", "publisher", "site_name", "source_domain"},
			URL:       []string{"url", "link", "sourceurl"},
			Published: []string{"published_at", "publishedAt", "published", "publish_time", "publish_date", "date_publish",
				"publishing_date", "pubDate", "pub_date", "datePublished", "date"},
			Credit: []string{"credit", "credit_line", "source_org", "provider", "agency", "dc.source"},
		},
		Framing: FramingNone,
	}
}

// Validate returns an error that names the first wrong setting and its allowed values.
func (c Config) Validate() error {
	if !slices.Contains([]string{FormatJSON, FormatAvro, FormatText, FormatHTML}, c.Format) {
		return fmt.Errorf("format: %q is not one of json, avro, text, html", c.Format)
	}
	if _, known := envelopes[c.Preset]; !known && c.Preset != "" {
		return fmt.Errorf("preset: %q is not one of %s", c.Preset, strings.Join(slices.Sorted(maps.Keys(envelopes)), ", "))
	}
	if c.Framing != FramingNone && c.Framing != FramingConfluent {
		return fmt.Errorf("framing: %q is not one of none, confluent", c.Framing)
	}
	if (c.Format == FormatJSON || c.Format == FormatAvro) && len(c.Fields.Text) == 0 {
		return fmt.Errorf("fields.text: at least one path is needed")
	}
	return nil
}

// envelope says where a system that wraps each article in a JSON object of its own puts the article.
type envelope struct {
	within  []string   // paths of the article in the value, in their order; "" is the value itself
	headers Fields     // the record headers that name something, behind what is within the value
	deletes []deletion // each reports that an article was deleted
}

// deletion is a string at a path.
type deletion struct{ path, value string }

// envelopes are the values of Config.Preset. Sources: the JSON converter of Kafka Connect with
// schemas.enable, Debezium's data change events (its MongoDB connector writes a document as a string, which
// @fromstr reads), CloudEvents 1.0 in structured and binary mode of its Kafka binding, and change streams of
// MongoDB's own connector.
var envelopes = map[string]envelope{
	"connect": {within: []string{"payload"}},
	"debezium": {
		within:  []string{"payload.after", "after", "payload.after.@fromstr", "after.@fromstr"},
		deletes: []deletion{{"payload.op", "d"}, {"op", "d"}},
	},
	"cloudevents": {
		within:  []string{"data", ""},
		headers: Fields{ID: []string{headerPath + "ce_id"}, Publisher: []string{headerPath + "ce_source"}},
	},
	"mongo": {
		within: []string{"fullDocument", "payload.fullDocument", "fullDocument.@fromstr",
			"payload.@fromstr.fullDocument"},
		deletes: []deletion{{"operationType", "delete"}, {"payload.operationType", "delete"}},
	},
}

// headerPath begins a path that leads to a record header: header:ce_id.
const headerPath = "header:"

// paths are the lists that a Decoder tries. A list of Fields that is the default is looked for within the
// envelope of the preset. A list of the user is taken as it is.
func (c *Config) paths() Fields {
	e, known := envelopes[c.Preset]
	if !known {
		return c.Fields
	}
	fields, defaults := c.Fields, DefaultConfig().Fields
	standard, headers := defaults.lists(), e.headers.lists()
	for i, paths := range fields.lists() {
		if !slices.Equal(*paths, *standard[i]) {
			continue
		}
		var all []string
		for _, place := range e.within {
			for _, path := range *paths {
				all = append(all, strings.TrimPrefix(place+"."+path, "."))
			}
		}
		*paths = append(all, *headers[i]...)
	}
	return fields
}
