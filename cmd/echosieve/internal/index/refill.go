package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/consumer/tools"
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

How far a refill has come is kept in Redis, beside the index. So a refill that was killed resumes where it was when
you type the command again, and several processes, on several machines, share the partitions. After a further loss of
data it begins again. The partitions of a killed process are free after 15 seconds. --restart makes it begin again in
any case. A finished refill that is typed again reads only what was published since, and with a longer --since
everything again.

Articles that index forget has forgotten stay forgotten: they are restored for replays only. With --from input they are
forgotten again at the end, which needs the rights of index forget. If Redis has lost all data, it has lost the marks of
forgotten articles, too: forget these articles again.

When a refill has read the whole window and left out nothing, the services end their warning of the loss. The warning
stays if --since is shorter than the window, or if Kafka has deleted records of the window.

It fingerprints every text of the window again. An article costs about three quarters of the CPU time that the service
has used for it. Use nice, or a machine of its own, if the service runs beside it.

Exit codes: 0 the index is filled; 1 it is filled, but not with everything (see the text); 2 failed: type it again.`

// The values of --from.
const (
	fromOutputs = "outputs"
	fromInput   = "input"
)

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
	from := cmd.Flags().String("from", fromOutputs,
		"topics to read: outputs keeps published verdicts, input reaches new ones")
	since := schema.DurationFlag(cmd.Flags(), "since", 0,
		"how far back records are read, by their timestamps; 0: the window; longer if the service is behind")
	restart := cmd.Flags().Bool("restart", false, "begin again, whatever an earlier refill has done")
	config.AddFlags(cmd.Flags(), "kafka", "redis", "window", "recipe", "detection", "policy", "input")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *from != fromOutputs && *from != fromInput {
			return fmt.Errorf("--from wants outputs or input, not %q", *from)
		}
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		r := &refiller{index: index, from: *from, began: time.Now(), progress: &progress{out: cmd.ErrOrStderr(),
			what: "records"}}
		r.oldest = r.began.Add(-cmp.Or(*since, index.cfg.Window))
		summary, err := r.refill(cmd.Context(), *restart)
		if err == nil || errors.As(err, new(*command.AnswerError)) {
			err = errors.Join(summary.print(cmd.OutOrStdout(), *asJSON), err)
		}
		return err
	}
	return cmd
}

// refill fills the index.
func (r *refiller) refill(ctx context.Context, restart bool) (*summary, error) {
	kafka := r.index.cfg.Kafka
	var err error
	if r.archive, err = tools.NewArchive(kafka, kafka.Topics.All()...); err != nil {
		return nil, err
	}
	defer r.archive.Close()
	if err = r.plan(ctx); err != nil {
		return nil, err
	}
	if r.shared, err = r.index.OpenRefill(ctx, r.from, restart); err != nil {
		return nil, err
	}
	if r.from == fromOutputs {
		if r.restorer, err = r.index.StartRestore(ctx, time.Now()); err != nil {
			return nil, err
		}
	}
	if r.pipeline, err = r.index.pipeline(); err != nil {
		return nil, err
	}
	if r.marks, err = r.index.AnyForgotten(ctx); err != nil {
		return nil, err
	}
	stop := r.progress.start()
	err = r.work(ctx)
	for last := r.began; r.from == fromInput && err == nil && time.Since(last) > restTime; {
		last = time.Now()
		if err = r.plan(ctx); err == nil {
			err = r.work(ctx)
		}
	}
	stop()
	if err == nil {
		err = r.forgetAgain(ctx)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: type the command again, and it resumes where it was")
	}
	if err != nil {
		return nil, err
	}
	if lost, err := r.shared.LostMore(ctx); err != nil || lost {
		return nil, errors.Join(err,
			errors.New("during the refill Redis has lost data again: end the cause, and type the command again"))
	}
	r.summary.Seconds = time.Since(r.began).Seconds()
	if err := r.cure(ctx); err != nil {
		return nil, err
	}
	return &r.summary, r.summary.answer()
}

// restTime is how long reading may have taken at last: a service that starts with the recipe stores what was decided
// since then, and nobody gets verdicts meanwhile.
const restTime = 5 * time.Second

// plan finds out what is to be read.
func (r *refiller) plan(ctx context.Context) (err error) {
	kafka := r.index.cfg.Kafka
	if r.committed, err = r.archive.AllCommitted(ctx, kafka.Group); err != nil {
		return err
	}
	if !slices.ContainsFunc(kafka.Topics.Inputs, func(topic string) bool { return r.committed[topic] != nil }) {
		return fmt.Errorf(
			"the group %s has committed nothing in %s: name the group of the service with --kafka.group", kafka.Group,
			strings.Join(kafka.Topics.Inputs, ", "))
	}
	r.parts, err = r.findParts(ctx)
	return err
}

// cure ends the warnings of the loss, and those of another index, if everything that belongs into the index is there.
func (r *refiller) cure(ctx context.Context) (err error) {
	switch {
	case r.oldest.After(r.began.Add(-r.index.cfg.Window)): // --since is shorter than the window
	case len(r.cut) > 0:
		r.summary.Cut = r.cut
	default:
		if r.summary.Cured, err = r.shared.Cure(ctx); err == nil {
			err = r.declareFilled(ctx)
		}
	}
	return err
}

// declareFilled declares that the index has what the group had committed when the refill began, unless
// another recipe has published a part of it.
func (r *refiller) declareFilled(ctx context.Context) error {
	kafka, h := r.index.cfg.Kafka, r.index.handover()
	if r.from == fromOutputs {
		labels, err := r.archive.Labels(ctx, kafka.Group, kafka.Topics.Inputs...)
		if err != nil {
			return err
		}
		lack, err := h.Lack(ctx, labels)
		if err != nil || lack != nil && lack.Other.Recipe != r.index.recipe.ID() {
			return err
		}
	}
	for _, topic := range kafka.Topics.Inputs {
		if err := h.Fill(ctx, topic, r.committed[topic]); err != nil {
			return err
		}
	}
	return nil
}
