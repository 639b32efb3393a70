package explain

import (
	"context"

	"echosieve/app/told"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// described is an article of the explanation.
type described struct {
	told.Article
	stored *keyspace.StoredArticle // what the index has; nil: nothing
	made   *article.Article        // from the text or the index; nil: neither has it
}

// describe makes a description of an input record.
func (e *explainer) describe(r record.Record) described {
	return e.withText(e.reader.Describe(r), article.Ref{Coordinates: r.Coordinates})
}

// withText fingerprints the text, if there is one.
func (e *explainer) withText(a told.Article, ref article.Ref) described {
	d := described{Article: a}
	if a.Gone == "" {
		made, _ := e.recipe.Fingerprint(a.Text, a.Origin())
		made.Coordinates, made.ID, made.Time = ref.Coordinates, a.ID, a.Time
		d.made = &made
	}
	return d
}

// fetch describes the article with the coordinates, as far as Kafka and the index have it. known are entries
// of the index in which it may be.
func (e *explainer) fetch(ctx context.Context, x *explanation, ref article.Ref,
	known []redisindex.Candidate) described {
	a, err := e.reader.Article(ctx, ref)
	d := e.withText(a, ref)
	if err == nil {
		e.addStored(ctx, x, &d)
		return d
	}
	for i := range known {
		if known[i].Coordinates == ref.Coordinates {
			d.setStored(&known[i].StoredArticle)
		}
	}
	return d
}

// setStored adds what the index has. It replaces what is not known from the text.
func (d *described) setStored(s *keyspace.StoredArticle) {
	d.stored, d.Index = s, told.NewStored(s)
	if d.made == nil {
		made := s.Article
		if !made.LittleText {
			made.SimHash = made.Fingerprint
		}
		d.made, d.Time = &made, s.Time
	}
}

// addStored adds what the index has of an article whose text is known.
func (e *explainer) addStored(ctx context.Context, x *explanation, d *described) {
	if e.index == nil || d.made == nil {
		return
	}
	found, err := e.index.Stored(ctx, d.made)
	if err != nil {
		e.loseIndex(x, err)
		return
	}
	for i := range found {
		if found[i].Coordinates == d.made.Coordinates {
			d.setStored(&found[i])
		}
	}
}

// loseIndex goes on without the index.
func (e *explainer) loseIndex(x *explanation, err error) {
	e.index = nil
	x.Notes = append(x.Notes, "the index was not asked: "+err.Error())
}
