package diff

import (
	"context"
	"errors"

	"echosieve/app/told"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
)

// sampler completes samples with their texts, which it reads at the coordinates of the input records.
// Verdicts of a shadow have no values.
type sampler struct {
	reader *told.Reader
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
	later := s.article(ctx, x, record)
	x.Title = later.Title
	if x.Gone != "" || original == nil || s.away != nil {
		return
	}
	if earlier := s.article(ctx, x, *original); x.Gone == "" && s.away == nil {
		x.Texts = told.Align(earlier.Text, later.Text)
	}
}

// article reads an article from Kafka. If it has no text, the sample says why.
func (s *sampler) article(ctx context.Context, x *sample, at article.Coordinates) told.Article {
	if s.away != nil {
		return told.Article{}
	}
	a, err := s.reader.Article(ctx, article.Ref{Coordinates: at})
	if x.Gone = a.Gone; err != nil && !errors.Is(err, tools.ErrNoRecord) {
		s.away = err
	}
	return a
}
