package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/inquiry"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/keyspace"

	"github.com/spf13/cobra"
)

// opened is an index with the settings that a command needs to read it.
type opened struct {
	*redisindex.Index
	*admin.Tools
	cfg    config.Config
	recipe *recipe.Recipe
}

// open opens the index of the configuration in the flags. The caller closes Client.
func open(cmd *cobra.Command) (*opened, error) {
	cfg, err := config.Load(cmd.Flags())
	if err != nil {
		return nil, err
	}
	o := &opened{cfg: cfg}
	// A wrong address is reported at once. Later failures are tried again for a minute.
	if o.recipe, o.Index, err = inquiry.Open(cmd.Context(), cfg); err != nil {
		return nil, err
	}
	o.Tools = admin.New(o.Index)
	return o, nil
}

// inputOf returns the coordinates of the input record that a command line names by its own, or by those of its output.
func (o *opened) inputOf(cmd *cobra.Command, name string) (article.Coordinates, error) {
	at, err := article.ParseCoordinates(name)
	if err != nil {
		return at, err
	}
	if !slices.Contains(o.cfg.Kafka.Topics.Outputs(), at.Topic) {
		return at, nil
	}
	reader := inquiry.NewReader(o.cfg, cmd.ErrOrStderr())
	defer reader.Close()
	a, err := reader.Article(cmd.Context(), article.Ref{Coordinates: at})
	switch {
	case a.Output != nil:
		return a.Output.Input, nil
	case errors.Is(err, tools.ErrNoRecord):
		err = &command.AnswerError{Text: err.Error()}
	case err == nil:
		err = fmt.Errorf("%s: %w", at, pipeline.ErrNoOutput)
	}
	return at, err
}

// show shows how far a command has come, until stop is called: how many of what are done, of a total; 0: unknown.
func show(out io.Writer, what string, done, total *atomic.Int64) (stop func()) {
	return files.ShowLine(out, func(elapsed time.Duration) string {
		n := done.Load()
		return files.Pace(fmt.Sprintf("%d %s", n, what), n, elapsed, n, total.Load())
	})
}

// scan goes through all keys of the index and shows the progress.
func (o *opened) scan(ctx context.Context, errOut io.Writer, fn func(admin.Keys) error) error {
	var done, total atomic.Int64
	stop := show(errOut, "keys of Redis", &done, &total)
	defer stop()
	return o.Walk(ctx, func(keys, all int64) {
		total.Store(all)
		done.Store(min(all, done.Load()+keys))
	}, fn)
}

// articles goes through all articles of the index.
func (o *opened) articles(ctx context.Context, errOut io.Writer, fn func([]keyspace.StoredArticle) error) error {
	return o.scan(ctx, errOut, func(k admin.Keys) error {
		found, _, err := k.Articles(ctx)
		if err != nil {
			return err
		}
		return fn(found)
	})
}

// lines is a text of lines that are broken at the width of a terminal. Nothing is hidden in their arguments.
type lines struct{ strings.Builder }

func (l *lines) line(format string, args ...any) {
	l.WriteString(command.Fit(visible.Sprintf(format+"\n", args...)))
}
