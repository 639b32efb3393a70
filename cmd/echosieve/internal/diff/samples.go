package diff

import (
	"context"
	"errors"

	"echosieve/app/outputs"
	"echosieve/app/sidebyside"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/text"
)

// sampler completes samples with their texts, which it reads at the coordinates of the input records.
// Verdicts of a shadow have no values.
type sampler struct {
	reader *outputs.Reader
	decode decode.Config
	places *places
	away   error // why no texts are read any more
}

func (s *sampler) complete(ctx context.Context, result *comparison) {
	for i := range result.Changes {
		for k := range result.Changes[i].Samples {
			s.addTexts(ctx, &result.Changes[i].Samples[k])
		}
	}
	if s.away != nil {
		result.Notes = append(result.Notes, "samples have no texts: "+s.away.Error())
	}
}

func (s *sampler) addTexts(ctx context.Context, x *sample) {
	record := s.places.coordinates(x.a.place, x.a.offset)
	x.Record = record.String()
	var original *article.Coordinates
	for _, v := range []struct {
		verdict *verdict
		name    *string
	}{{&x.a, &x.OriginalA}, {&x.b, &x.OriginalB}} {
		if v.verdict.kind != article.Unique && v.verdict.kind != dead {
			c := s.places.coordinates(v.verdict.at, v.verdict.original)
			*v.name, original = c.String(), &c
		}
	}
	later, ok := s.content(ctx, x, record)
	if !ok {
		return
	}
	x.Title = later.Title
	if original == nil {
		return
	}
	if earlier, ok := s.content(ctx, x, *original); ok {
		x.Texts = sidebyside.Align(text.Readable(earlier.Text), text.Readable(later.Text), text.Clean)
	}
}

// content reads an article from Kafka. If that fails, the sample says why.
func (s *sampler) content(ctx context.Context, x *sample, at article.Coordinates) (article.Content, bool) {
	if s.away != nil {
		return article.Content{}, false
	}
	r, err := s.reader.Record(ctx, at)
	if err != nil {
		x.Gone = err.Error()
		if !errors.Is(err, tools.ErrNoRecord) {
			s.away = err
		}
		return article.Content{}, false
	}
	content, reject := s.decode.Decode(&r)
	if reject != nil {
		x.Gone = reject.Error()
		return content, false
	}
	return content, true
}
