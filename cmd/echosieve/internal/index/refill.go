package index

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/refill"
	"echosieve/app/visible"
	"echosieve/consumer/learning"
)

const refillHelp = `Refill fills the index after Redis has lost data, or the empty index of a new recipe. It reads the
articles of the last window from Kafka and stores them again. It publishes nothing, and commits nothing in Kafka.

--from outputs, the default, reads the output topics. Each article keeps the verdict that was published, so a replay
of the same input gives the same verdicts, and copies that come from now on name the same originals. Articles that
were published by another recipe cannot keep their verdicts: they are counted and left out (exit code 1).

--from input reads the input topics and reaches new verdicts, as the service does, for an index that is still empty. Use
it before a change of recipe, with the configuration of the new recipe. It goes on with what the service has decided
meanwhile, until that takes less than five seconds; the service stores the rest when it starts with the recipe.

Only records below the committed offsets of kafka.group are restored, because the service may still decide the others.
The service may run meanwhile. Its articles count as later than restored articles; a copy that arrives before its
original is restored passes as unique.

A refill that was killed begins anew when you type the command again; what is there already stays as it is.

Articles that index forget has forgotten stay forgotten. With their verdicts they are restored for replays only; with
--from input they are left out. If Redis has lost all data, it has lost the marks of forgotten articles, too: forget
these articles again.

When a refill has read the whole window and left out nothing, the services end their warning of the loss. The warning
stays if --since is shorter than the window, or if Kafka has deleted records of the window.

It fingerprints every text of the window again. An article costs about three quarters of the CPU time that the service
has used for it. Use nice, or a machine of its own, if the service runs beside it.

Exit codes: 0 the index is filled; 1 it is filled, but not with everything (see the text); 2 failed: type it again.`

func newRefillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "refill",
		Short: "Fill the index from Kafka after a loss, or for a new recipe",
		Long:  refillHelp,
		Example: `  nice echosieve index refill --config echosieve.yaml
  nice echosieve index refill --config new-recipe.yaml --from input`,
		Args: command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	from := cmd.Flags().String("from", refill.FromOutputs,
		"topics to read: outputs keeps published verdicts, input reaches new ones")
	since := schema.DurationFlag(cmd.Flags(), "since", 0,
		"how far back records are read, by their timestamps; 0: the window; longer if the service is behind")
	config.AddFlags(cmd.Flags(), "kafka", "redis", "window", "recipe", "detection", "policy", "input")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *from != refill.FromOutputs && *from != refill.FromInput {
			return fmt.Errorf("--from wants outputs or input, not %q", *from)
		}
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		r := &refill.Refill{Config: index.cfg, Recipe: index.recipe, Index: index.Index, Tools: index.Tools, From: *from,
			Since: cmp.Or(*since, index.cfg.Window)}
		learnt, err := learning.Follow(cmd.Context(), index.cfg.Kafka, index.cfg.Window, index.recipe)
		if err != nil {
			return err
		}
		if learnt != nil {
			defer learnt.Close()
			go learnt.Run(cmd.Context()) // it ends with the program
			r.Learnt = learnt
		}
		stop := show(cmd.ErrOrStderr(), "records", &r.Read, &r.Total)
		summary, err := r.Run(cmd.Context())
		stop()
		switch {
		case cmd.Context().Err() != nil:
			return errors.New("interrupted: type the command again")
		case err != nil:
			return err
		}
		err = command.Print(cmd, *asJSON, summary, func() string { return summaryText(summary) })
		if err == nil && summary.OtherRecipe > 0 {
			err = &command.AnswerError{Text: visible.Count(summary.OtherRecipe, "article") +
				" of another recipe left out; --from input gives new verdicts"}
		}
		return err
	}
	return cmd
}

func summaryText(s *refill.Summary) string {
	var out lines
	out.line("%s restored, %d decided, %d were there, in %.1f s", visible.Count(s.Restored, "article"), s.Decided, s.Held,
		s.Seconds)
	out.line("left out:  %d the service may still decide, %d of another recipe, %d without text, %d older than "+
		"the window, %d not published by this service",
		s.Uncommitted, s.OtherRecipe, s.NoText, s.Old, s.NotPublished)
	out.line("%d have another verdict in the index, which stays", s.Differs)
	if s.Forgotten > 0 {
		out.line("%d stay forgotten (index forget)", s.Forgotten)
	}
	if s.Cured {
		out.line("if articles were forgotten before the loss (index forget) and this refill names none, forget " +
			"them again")
		out.line("the services no longer warn of the loss")
	}
	if len(s.Cut) > 0 {
		out.line("records of the window may be missing, because Kafka has deleted the beginning of %s; the "+
			"warning of the loss stays", strings.Join(s.Cut, ", "))
	}
	return out.String()
}
