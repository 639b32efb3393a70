package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/inquiry"
	"echosieve/app/produce"
	"echosieve/app/visible"
)

const lookHelp = `Look prints the verdict that articles would get if they came now, and the stored
articles that resemble them. FILE is read as produce reads it, and holds at most 100 articles; "-"
is standard input. With input.format text or html each line is an article.

It asks Redis, reads only, and stores nothing: the answer is advice. A service with http.look
answers the same at /v1/look.

Exit codes: 0 done; 1 an article would be a dead letter, or a line holds no article; 2 failed, or no line is
an article.`

func newLookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "look FILE", Short: "Print the verdict that an article would get now", Long: lookHelp,
		Example: `  echosieve look article.json --config echosieve.yaml
  curl -s https://news.example/article.json | echosieve look - --config echosieve.yaml --json`,
		Args: command.Wants(1, "one file with articles"),
	}
	asJSON := command.AddJSONFlag(cmd)
	config.AddShadowFlag(cmd.Flags(), "look in the index of the shadow")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		values, bad, err := readValues(cmd, cfg, args)
		if err != nil {
			return err
		}
		made, index, err := inquiry.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		answer, err := inquiry.NewLooker(cfg, made, index).Look(cmd.Context(), values)
		if err != nil {
			return err
		}
		err = command.Print(cmd, *asJSON, answer, func() string { return lookText(&answer) })
		for _, a := range answer.Articles {
			if err == nil && a.Verdict == "dead" {
				err = &command.AnswerError{Text: "at least one of the articles would be a dead letter"}
			}
		}
		if err == nil && bad > 0 {
			err = &command.AnswerError{Text: fmt.Sprintf("%s left out", visible.Count(int(bad), "bad line"))}
		}
		return err
	}, "redis", "window", "recipe", "detection", "policy", "input", "shadow")
}

// readValues returns the articles of a file, and the number of lines that are none.
func readValues(cmd *cobra.Command, cfg config.Config, names []string) (values [][]byte, bad int64, err error) {
	cfg.Input.Config = cfg.Input.AsJSON()
	progress := files.NewProgress(cmd.ErrOrStderr(), -1, "", nil)
	for rec, err := range produce.NewLines(cfg, progress).Records(cmd.Context(), names, cmd.InOrStdin()) {
		if err != nil {
			return nil, 0, err
		}
		if len(values) == inquiry.MostLooked {
			return nil, 0, fmt.Errorf("%s holds more than %d articles; name a file of fewer", names[0], inquiry.MostLooked)
		}
		values = append(values, rec.Value)
	}
	return values, progress.Bad.Load(), nil
}

// lookText describes each article in one line, and below it the stored articles.
func lookText(answer *inquiry.Answer) string {
	var b strings.Builder
	for i, a := range answer.Articles {
		line := cmp.Or(a.ID, fmt.Sprintf("article %d", i+1)) + ": " + a.Verdict
		switch {
		case a.Detail != "":
			line += ", " + a.Reason + ": " + a.Detail
		case a.Original != nil:
			line += fmt.Sprintf(" (%s, %s), to %s, of %s id %s", a.Reason, visible.Count(a.Distance, "bit"),
				a.Topic, a.Original.Record, a.Original.ID)
			if a.Root != nil && *a.Root != *a.Original {
				line += ", root " + a.Root.Record
			}
		}
		if a.Relation != nil {
			line += ", " + a.String()
		}
		fmt.Fprintln(&b, visible.Line(line))
		for _, n := range a.Nearest {
			line := fmt.Sprintf("  %s id %s, %s", n.Record, n.ID, &n.Judged)
			if n.Hidden {
				line += ", hidden in the index"
			}
			fmt.Fprintln(&b, visible.Line(line))
		}
	}
	return command.Fit(b.String() + answer.Note + "\n")
}
