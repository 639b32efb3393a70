package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/consumer/learning"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/text"
)

func newLearntCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "learnt",
		Short: "List the sentences that publishers repeat, which are left out",
		Long: `Learnt lists the sentences that five different articles of a publisher have had within 30 days. They are left
out of its articles that come later, from the begin on. A publisher * stands for all. "learnt never" ends that.`,
		Example: `  echosieve learnt --config echosieve.yaml
  echosieve learnt never --config echosieve.yaml 00c3a5d1f2e49b77
  echosieve learnt never --config echosieve.yaml --from sentences.txt`,
		Args: command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	cmd.AddCommand(newNeverCommand())
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		t, err := openLearnt(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer t.Close()
		all := t.Rows().All()
		return command.Print(cmd, *asJSON, all, func() string { return learntTable(all) })
	}, "kafka", "window", "recipe", "detection")
}

func openLearnt(ctx context.Context, cfg config.Config) (*learning.Topic, error) {
	t, err := learning.Follow(ctx, cfg.Kafka, cfg.Window, &recipe.Recipe{})
	if err == nil && t == nil {
		err = errors.New("nothing is learnt: set detection.learn: true")
	}
	return t, err
}

func learntTable(all []learnt.Row) string {
	t := command.NewTable("hash", "publisher", "begin", "articles", "sentence")
	for _, r := range all {
		articles := strconv.Itoa(r.Articles)
		if r.Never {
			articles = "never"
		}
		t.AppendRow([]any{fmt.Sprintf("%016x", r.Hash), visible.Line(r.Publisher), r.Begin.Format(time.RFC3339),
			articles, visible.Line(r.Sentence)})
	}
	return t.Render() + "\n"
}

func newNeverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "never [HASH...]",
		Short: "Leave sentences out of no article any more",
		Long: `Never ends that a sentence is left out, whoever repeats it: from the next full hour that is at least an hour
away. A sentence is named by its hash, which "echosieve learnt" lists, or whole, one in each line of a file.`,
		Example: `  echosieve learnt never --config echosieve.yaml 00c3a5d1f2e49b77
  echosieve learnt never --config echosieve.yaml --from sentences.txt`,
	}
	asJSON := command.AddJSONFlag(cmd)
	from := cmd.Flags().String("from", "", "`file` with a sentence in each line")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		vetoes, err := vetoesOf(args, *from)
		if err != nil {
			return err
		}
		t, err := openLearnt(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer t.Close()
		known := map[uint64]string{}
		for _, r := range t.Rows().All() {
			known[r.Hash] = r.Sentence
		}
		for i := range vetoes {
			vetoes[i].Sentence = cmp.Or(vetoes[i].Sentence, known[vetoes[i].Hash])
		}
		if err := t.Publish(cmd.Context(), vetoes); err != nil {
			return err
		}
		return command.Print(cmd, *asJSON, vetoes, func() string {
			return fmt.Sprintf("%s left out of nothing from %s on\n", visible.Count(len(vetoes), "sentence"),
				learning.Begin(time.Now()).Format(time.RFC3339))
		})
	}, "kafka", "window", "recipe", "detection")
}

// vetoesOf returns a row for each hash, and for each line of a file.
func vetoesOf(hashes []string, file string) (vetoes []learnt.Row, err error) {
	for _, arg := range hashes {
		hash, err := strconv.ParseUint(arg, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no hash: \"echosieve learnt\" lists those of 16 digits", arg)
		}
		vetoes = append(vetoes, learnt.Row{Publisher: learnt.Everybody, Hash: hash, Never: true})
	}
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if sentence := text.Clean(strings.TrimSpace(lines.Text())); sentence != "" {
				vetoes = append(vetoes, learnt.Row{Publisher: learnt.Everybody, Hash: learnt.Hash(sentence), Never: true,
					Sentence: sentence})
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("--from %s: %w", file, err)
		}
	}
	if len(vetoes) == 0 {
		return nil, errors.New("learnt never wants hashes, or --from FILE")
	}
	return vetoes, nil
}
