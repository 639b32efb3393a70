package pipeline

import (
	"fmt"
	"time"
)

// DecodeConfig says how to find the article in a record's value.
type DecodeConfig struct {
	Format     string      `koanf:"format" help:"What a record's value is: json (an object with the fields below), text or html (the whole value is the text)."`
	Fields     FieldConfig `koanf:"fields"`
	Tombstones string      `koanf:"tombstones" help:"What happens to records with a null value: unique (passed on to the unique topic) or skip."`
	// MaxFuture only decides which timestamps are counted as future, not any verdict.
	MaxFuture time.Duration `koanf:"max_future" help:"A record timestamp further ahead of the clock is counted as future in echosieve_pipeline_event_time_total; 0 counts none."`
}

// FieldConfig lists, for each field of an article, the dotted paths to try in a JSON value, in their order.
type FieldConfig struct {
	ID     []string `koanf:"id" help:"Paths of the article id; MongoDB's {\"$oid\": ...} is understood. Without an id the record's topic/partition/offset is the id."`
	Title  []string `koanf:"title" help:"Paths of the title. It is not part of the fingerprint."`
	Text   []string `koanf:"text" help:"Paths of the text. The first that exists must be a string."`
	Source []string `koanf:"source" help:"Paths of the publisher's name."`
	URL    []string `koanf:"url" help:"Paths of the article's address, which eval threshold shows where the source is not known."`
}

// The values of DecodeConfig.Format and DecodeConfig.Tombstones.
const (
	FormatJSON       = "json"
	FormatText       = "text"
	FormatHTML       = "html"
	TombstonesUnique = "unique"
	TombstonesSkip   = "skip"
)

// DefaultDecodeConfig reads JSON with the field names that most crawlers use.
func DefaultDecodeConfig() DecodeConfig {
	return DecodeConfig{
		Format: FormatJSON,
		Fields: FieldConfig{
			ID:     []string{"id", "_id", "url"},
			Title:  []string{"title"},
			Text:   []string{"text", "content", "body"},
			Source: []string{"source"},
			URL:    []string{"url"},
		},
		Tombstones: TombstonesUnique,
		MaxFuture:  24 * time.Hour,
	}
}

// Validate returns an error that names the first wrong setting and its allowed values.
func (c DecodeConfig) Validate() error {
	switch c.Format {
	case FormatJSON, FormatText, FormatHTML:
	default:
		return fmt.Errorf("format: %q is not one of json, text, html", c.Format)
	}
	switch c.Tombstones {
	case TombstonesUnique, TombstonesSkip:
	default:
		return fmt.Errorf("tombstones: %q is not one of unique, skip", c.Tombstones)
	}
	if c.MaxFuture < 0 {
		return fmt.Errorf("max_future: %s is negative", c.MaxFuture)
	}
	if c.Format == FormatJSON && len(c.Fields.Text) == 0 {
		return fmt.Errorf("fields.text: at least one path is needed")
	}
	return nil
}
