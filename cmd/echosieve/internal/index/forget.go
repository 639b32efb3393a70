package index

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
)

const forgetHelp = `After forget, no later article is a copy of this article. Use it after a takedown, or if a wrong
original (an error page, a cookie wall) swallows articles. It takes the coordinates of the input record, as the header
echosieve-input or echosieve-original has them, TOPIC/PARTITION/OFFSET; those of a record in an output topic, which it
reads; or the id of an article, which means all versions of the article with that id (--as id, if the id looks like
coordinates). All articles whose root it is are forgotten with it, because they were never published as unique.

Published verdicts stay. When a forgotten record is delivered again, it gets its old verdict; an exact repeat of it,
which has no entry, is decided anew. The next article with the same text, or a similar one, is published as unique and
is an original from then on: if the text itself is the problem, forget that article, too. Redis keeps a mark of each
forgotten article for two windows, for all indexes of the namespace: a refill, also one for a new recipe, leaves them
forgotten. If Redis loses all data, the marks are lost, too: then forget the articles again after the refill.

Forget reads the whole index until it finds nothing more, because articles under way may still get the article as their
root. It needs the rights SCAN, DBSIZE and HGETALL, and for coordinates of an output Read on that topic.

Exit codes: 0 forgotten; 1 the index has no entry of it (an exact repeat has none, and old ones expire); 2 failed.`

// maxPasses bounds the passes over the index. Each but the last finds articles that were decided during the one before.
const maxPasses = 10

func newForgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "forget TOPIC/PARTITION/OFFSET|ID", Short: "Let no later article be a copy of an article",
		Long: forgetHelp,
		Example: `  echosieve index forget articles/3/128077 --config echosieve.yaml
  echosieve index forget https://news.example/2026/1 --config echosieve.yaml`,
		Args: command.Wants(1, "the coordinates of one article, such as articles/3/128077, or an id"),
	}
	asJSON := command.AddJSONFlag(cmd)
	as := cmd.Flags().String("as", "", "what the argument is: id or coordinates (default: by its form)")
	config.AddFlags(cmd.Flags(), "kafka", "redis", "window", "recipe", "detection")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, err := kindOf(*as, args[0], "id", "coordinates")
		if err != nil {
			return err
		}
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		wanted := func(r article.Ref) bool { return r.ID == args[0] }
		if kind == "coordinates" {
			at, err := index.inputOf(cmd, args[0])
			if err != nil {
				return err
			}
			wanted = func(r article.Ref) bool { return r.Coordinates == at }
		}
		f, err := forget(cmd.Context(), cmd.ErrOrStderr(), index, wanted)
		if err != nil {
			return err
		}
		if len(f.found) == 0 {
			return &command.AnswerError{Text: nothingKnown(*as, kind, args[0])}
		}
		copies := len(f.hidden) - len(f.found)
		return command.Print(cmd, *asJSON, map[string]any{"forgotten": args[0], "articles": len(f.found),
			"copies": copies, "already": !f.anew}, func() string {
			var out lines
			state := "forgotten"
			if !f.anew {
				state = "forgotten already"
			}
			out.line("%s with the %s %q %s, and %s with such a root", visible.Count(len(f.found), "article"), kind, args[0],
				state, visible.Count(copies, "article"))
			return out.String()
		})
	}
	return cmd
}

// forget hides the entries of the wanted articles, and the entries of all articles whose root one of them is,
// and marks them as forgotten. It finds nothing if the index has no wanted article.
func forget(ctx context.Context, errOut io.Writer, index *opened, wanted func(article.Ref) bool) (*forgetter, error) {
	f := &forgetter{index: index, wanted: wanted, found: map[article.Coordinates]bool{},
		hidden: map[article.Coordinates]bool{}}
	for pass := range maxPasses {
		f.left = 0
		before := len(f.hidden)
		if err := index.articles(ctx, errOut, func(found []keyspace.StoredArticle) error {
			return f.hide(ctx, found)
		}); err != nil {
			return nil, err
		}
		if len(f.found) == 0 || f.left == 0 && len(f.hidden) == before && pass > 0 {
			return f, nil
		}
		if err := stopping.Wait(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s hidden, but more come, or one gets no verdict: type the command again",
		visible.Count(len(f.hidden), "article"))
}

// forgetter is the state of the command forget.
type forgetter struct {
	index  *opened
	wanted func(article.Ref) bool
	found  map[article.Coordinates]bool // the wanted articles
	hidden map[article.Coordinates]bool // they, and those whose root they are
	left   int                          // entries of this pass that could not be hidden yet
	anew   bool                         // one of the articles was not marked as forgotten before
}

// hide hides those of the stored articles that are to be forgotten. They are marked first: whatever happens
// then, a refill knows of them.
func (f *forgetter) hide(ctx context.Context, stored []keyspace.StoredArticle) error {
	var forgotten []keyspace.StoredArticle
	var marks []article.Ref
	for _, s := range stored {
		switch {
		case f.wanted(s.Ref()):
			f.found[s.Coordinates] = true
		case !s.Verdict.Kind.IsCopy(), !f.wanted(s.Verdict.Root):
			continue
		}
		if !f.hidden[s.Coordinates] {
			forgotten, marks = append(forgotten, s), append(marks, s.Ref())
		}
	}
	known, err := f.index.AreForgotten(ctx, marks)
	if err != nil {
		return err
	}
	for i, s := range forgotten {
		f.anew = f.anew || !known[i] || !s.Hidden
	}
	if err := f.index.MarkForgotten(ctx, marks); err != nil {
		return err
	}
	for _, s := range forgotten {
		hidden, err := f.index.Hide(ctx, s)
		if err != nil {
			return err
		}
		if hidden {
			f.hidden[s.Coordinates] = true
		} else {
			f.left++
		}
	}
	return nil
}
