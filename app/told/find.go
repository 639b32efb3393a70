package told

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/app/command"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
)

// Find returns what was published about an article, which is named by the coordinates of its record in the input or an
// output topic, or by its id. Of several articles with an id it is the latest that is not older than since. Without
// such an article the error is a *command.AnswerError.
func (r *Reader) Find(ctx context.Context, name string, since time.Time) (*Output, error) {
	at, err := article.ParseCoordinates(name)
	if err != nil {
		o, _, err := r.ByID(ctx, name, since)
		if err == nil && o == nil {
			err = &command.AnswerError{Text: fmt.Sprintf("no article with the id %q is in the output topics since %s; "+
				"search further back with --since, or name its coordinates", name, since.UTC().Format(time.DateTime))}
		}
		return o, err
	}
	a, err := r.Article(ctx, article.Ref{Coordinates: at})
	if a.Output != nil {
		return a.Output, nil
	}
	if err != nil && (!errors.Is(err, tools.ErrNoRecord) || !slices.Contains(r.cfg.Topics.Inputs, at.Topic)) {
		return nil, answer(err)
	}
	o, err := r.Verdict(ctx, at, a.Time)
	return o, answer(err)
}

// answer makes an answer of an error that says that there is no such record or verdict.
func answer(err error) error {
	if errors.Is(err, tools.ErrNoRecord) || errors.Is(err, ErrNoVerdict) {
		return &command.AnswerError{Text: err.Error()}
	}
	return err
}
