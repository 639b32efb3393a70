package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/drops"
	"echosieve/app/inquiry"
	"echosieve/app/release"
	"echosieve/app/visible"
)

const releaseHelp = `Release takes a wrong drop back. It publishes the record of a dropped article into its input
partition again, with the header echosieve-release. The service decides this record as unique, with the reason
"released", whatever it resembles. No verdict changes: the dropped record and its output stay as they are. Articles that
come later are copies as before, also of the released one.

An article is named by the coordinates of its record in an output topic or in the input topic, or by its id: then it is
the latest article with the id in the output topics of the last hours (--since). --from reads the marks that a page of
"echosieve explain --html --since" has saved, and releases what is marked as wrong.

An article is released once. A second call says which record has taken its place, and publishes nothing, also after a
call that was interrupted or killed. Redis remembers that for two windows.

It needs Read and Write on the input topic, Read on the output topics, and in Redis the rights of the service.

Exit codes: 0 released, or released before; 1 at least one cannot be released; 2 failed: type the command again.`

func newReleaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release [TOPIC/PARTITION/OFFSET|ID...]", Short: "Publish a dropped article after all", Long: releaseHelp,
		Example: `  echosieve release --config echosieve.yaml articles-duplicate/0/1517
  echosieve release --config echosieve.yaml --from marks.tsv --dry-run`,
	}
	asJSON := command.AddJSONFlag(cmd)
	from := cmd.Flags().String("from", "", "`file` of marks: release what is marked as wrong")
	since := schema.DurationFlag(cmd.Flags(), "since", 24*time.Hour, "how far back an id is searched")
	dry := cmd.Flags().Bool("dry-run", false, "say what would be released, and write nothing")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		if *from != "" {
			marks, err := drops.ReadMarks(*from)
			if err != nil {
				return fmt.Errorf("--from: %w", err)
			}
			for _, m := range marks {
				if m.Wrong() {
					names = append(names, m.Record)
				}
			}
		}
		if len(names) == 0 {
			return errors.New("nothing to release: name coordinates, such as articles-duplicate/0/1517, an id, or " +
				"marks with --from")
		}
		_, index, err := inquiry.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		r, err := release.New(cfg, index, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer r.Close()
		done, err := releaseAll(cmd, r, names, time.Now().Add(-*since), *dry)
		if done == nil && err != nil {
			return err
		}
		return errors.Join(command.Print(cmd, *asJSON, done, func() string { return releasedText(done, *dry) }), err)
	}, "kafka", "redis", "window", "recipe", "detection", "input")
}

// releaseAll releases articles one after another. Those that cannot be released do not hold up the others: the error
// names them all.
func releaseAll(cmd *cobra.Command, r *release.Releaser, names []string, since time.Time, dry bool) (
	all []release.Released, err error,
) {
	var refused []string
	for _, name := range names {
		done, err := r.Release(cmd.Context(), name, since, dry)
		if answer := (*command.AnswerError)(nil); errors.As(err, &answer) {
			refused = append(refused, answer.Text)
			continue
		}
		if err != nil {
			return all, err
		}
		all = append(all, done)
	}
	if len(refused) > 0 {
		return all, &command.AnswerError{Text: strings.Join(refused, "; ")}
	}
	return all, nil
}

func releasedText(all []release.Released, dry bool) string {
	var b strings.Builder
	for _, d := range all {
		state := "released as " + d.New
		switch {
		case dry:
			state = "would be released"
		case d.Already:
			state = "released already, as " + d.New
		}
		fmt.Fprintln(&b, visible.Line(d.Record+" (in "+d.Output+"): "+state))
	}
	return b.String()
}
