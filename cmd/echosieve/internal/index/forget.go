package index

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"echosieve/internal/command"
	"echosieve/internal/config"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
)

const forgetHelp = `Forget makes an article one that no later article is a copy of: after a takedown, or if a wrong original (an error
page, a cookie wall) swallows articles. It takes the coordinates of the input record, as the header echosieve-source or
echosieve-original has them: TOPIC/PARTITION/OFFSET. All articles whose root it is are forgotten with it: they were
never published as unique, so nothing may be dropped because of them either.

- Verdicts that were published stay as they are. When a forgotten record is delivered again, it gets its old verdict.
- The next article with the same text, or one that resembles it, counts as new: it is published as unique, and is an
  original from then on. If its text itself is the problem, forget that one, too.
- A refill after a loss brings forgotten articles back: forget them again.

It goes through the whole index, again and again until it finds nothing more, because articles under way may still get
it as their root. It needs the rights SCAN, DBSIZE and HGETALL. All processes of the service must have this version.

Exit codes: 0 forgotten; 1 the index has no entry of it (an exact repeat has none, and old ones expire); 2 failed.`

// maxPasses bounds the passes over the index. Each but the last finds articles that were decided during the one before.
const maxPasses = 10

func newForgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "forget TOPIC/PARTITION/OFFSET", Short: "Make an article the original of nothing from now on", Long: forgetHelp,
		Example: `  echosieve index forget articles/3/128077 --config echosieve.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s wants the coordinates of one article, such as articles/3/128077; see %s --help", command.NameOf(cmd), cmd.CommandPath())
			}
			_, err := article.ParseCoordinates(args[0])
			return err
		},
	}
	asJSON := command.AddJSONFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.client.Close()
		at, err := article.ParseCoordinates(args[0])
		if err != nil {
			return err
		}
		copies, err := forget(cmd, index, at)
		if err != nil {
			return err
		}
		if *asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"forgotten": args[0], "copies": copies})
		}
		out := &printer{w: cmd.OutOrStdout()}
		out.line("%s is forgotten, and %d articles whose root it was", at, copies)
		return out.err
	}
	return cmd
}

// forget hides the entry of an article, and the entries of all articles whose root it is. It returns the number of these.
func forget(cmd *cobra.Command, index *opened, at article.Coordinates) (copies int, err error) {
	f := &forgetter{index: index, at: at, hidden: map[article.Coordinates]bool{}}
	for pass := range maxPasses {
		f.left = 0
		before := len(f.hidden)
		if _, err := index.articles(cmd.Context(), cmd.ErrOrStderr(), func(found []redisindex.StoredArticle) error { return f.hide(cmd, found) }); err != nil {
			return 0, err
		}
		if !f.found {
			return 0, &command.AnswerError{Text: fmt.Sprintf("the index has no entry of %s", at)}
		}
		if f.left == 0 && len(f.hidden) == before && pass > 0 {
			return len(f.hidden) - 1, nil
		}
		if err := pause(cmd.Context(), time.Second); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s: %d articles were hidden, but more come, or one gets no verdict: type the command again", at, len(f.hidden))
}

// forgetter is the state of the command forget.
type forgetter struct {
	index  *opened
	at     article.Coordinates
	found  bool
	hidden map[article.Coordinates]bool
	left   int // entries of this pass that could not be hidden yet
}

func (f *forgetter) hide(cmd *cobra.Command, found []redisindex.StoredArticle) error {
	for _, s := range found {
		self := s.Coordinates == f.at
		f.found = f.found || self
		if !self && (!s.Verdict.Kind.IsCopy() || s.Verdict.Root.Coordinates != f.at) {
			continue
		}
		if s.Hidden {
			f.hidden[s.Coordinates] = true
			continue
		}
		hidden, err := f.index.Hide(cmd.Context(), s)
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
