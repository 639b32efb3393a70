package eval

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

const versusHelp = `Versus sends the articles of a file, in their order, through the recipe of the settings and through
another one, and prints how many articles both would drop, only one, or neither. Then it shows articles that only one of
them drops, side by side with the article that each would repeat. Read them: copies that the other misses, or reports
that it would have lost?

It needs no labels and no server. Times are those of the field "ts", in seconds since 1970; without it, each article is
one second later than the one before.`

// versusOptions holds the values of the flags of eval versus.
type versusOptions struct {
	file, recipe string
	each         int
}

func newVersusCommand() *cobra.Command {
	var o versusOptions
	cmd := &cobra.Command{
		Use:   "versus FILE",
		Short: "Without labels: what one recipe drops and another keeps, side by side",
		Long:  versusHelp,
		Example: `  echosieve-lab eval versus articles.jsonl.gz --html versus.html
  echosieve-lab eval versus articles.jsonl.gz --recipe classic-yanyiwu --each 3`,
		Args: cobra.MaximumNArgs(1),
	}
	output := newOutput(cmd, "the articles that only one drops", report.Versus,
		func(figures.VersusResult) []figure { return nil })
	cmd.Flags().IntVar(&o.each, "each", 10, "articles to show of those that only one recipe drops")
	command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		if len(args) == 0 {
			return errors.New("name the file of articles")
		}
		o.file = args[0]
		if o.each < 0 {
			return errors.New("--each must not be negative")
		}
		if err := output.validate(); err != nil {
			return err
		}
		result, recipeIDs, err := evalVersus(cmd, cfg, o)
		if err != nil {
			return err
		}
		return output.show(result, recipeIDs, o.file)
	}, "window", "detection", "policy", "input")
	other := pflag.NewFlagSet("", pflag.ContinueOnError)
	other.StringVar(&o.recipe, "recipe", "classic-python-200", "the other recipe")
	*cmd.Flags().Lookup("recipe") = *other.Lookup("recipe") // it does not change the settings
	return cmd
}

func evalVersus(cmd *cobra.Command, cfg config.Config, o versusOptions) (r figures.VersusResult, ids string,
	err error) {
	other := cfg
	if other.Recipe = o.recipe; other.Recipe == cfg.Recipe {
		return r, "", fmt.Errorf("--recipe is %s, as in the settings: name another one", o.recipe)
	}
	if err := other.Validate(); err != nil {
		return r, "", fmt.Errorf("--%w", err)
	}
	var verdicts [2][]figures.StreamVerdict
	var both [2]string
	for i, c := range []config.Config{cfg, other} {
		s, recipeID, err := judgeStream(cmd, c, o.file, true)
		if err != nil {
			return r, "", err
		}
		verdicts[i], both[i] = s.verdicts, recipeID
		cmd.SetErr(io.Discard) // the second run has the same to say of the file
	}
	if len(verdicts[0]) != len(verdicts[1]) {
		return r, "", fmt.Errorf("%s has changed while it was read", o.file)
	}
	r = figures.Versus([2]string{cfg.Recipe, other.Recipe}, verdicts)
	drawn := r.Sample(o.each)
	beside, err := besides(cmd.Context(), cfg, o.file, drawn)
	for i, b := range beside {
		r.Samples = append(r.Samples, figures.VersusPair{Recipe: r.Recipes[drawn[i].Group], Beside: b})
	}
	return r, strings.Join(both[:], " and "), err
}
