// Package compare is the command compare: why two texts are copies of each other, or why not.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/pipeline/decode"
)

const help = `Compare shows why two texts are copies of each other, or why not: both fingerprints, the bits in which
they differ, the look-ups by which the service with the same configuration finds A when B comes, the heaviest words
with their weights in each text, and the verdict that the service would reach if B followed A within the window.

A and B are texts, or files that hold one: the name of a file, @FILE, or "-" for standard input. What
a file holds is taken as text, with or without markup; a record in JSON is refused.`

// Command returns the command compare.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Show why two texts are copies of each other, or why not",
		Long:  help,
		Example: `  echosieve compare old.txt new.html
  echosieve compare "first text" "second text" --json
  curl -s https://news.example/1 | echosieve compare - article.txt --detection.near 0.5`,
		Args: command.Wants(2, "two texts or files, A and B (put a text with spaces in quotes)"),
	}
	asJSON := command.AddJSONFlag(cmd)
	texts := cmd.Flags().Bool("texts", false, "show both texts side by side, with what differs marked")
	top := cmd.Flags().Uint("top", 20, "number of words to list; 0: all")
	publisher := cmd.Flags().String("publisher", "",
		"publisher of both texts; for the rule, which asks who published them")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		if args[0] == "-" && args[1] == "-" {
			return errors.New("standard input can be only one of the two texts")
		}
		both := [2]inquiry.Article{{Publisher: *publisher}, {Publisher: *publisher}}
		for i, arg := range args {
			var err error
			if both[i].Record, both[i].Text, err = readText(arg, cmd.InOrStdin()); err != nil {
				return err
			}
		}
		made, err := cfg.LoadRecipe()
		if err != nil {
			return err
		}
		c := compareTexts(made, inquiry.NewJudge(cfg, made), &both[0], &both[1])
		if *top > 0 {
			c.Words = c.Words[:min(int(*top), len(c.Words))]
		}
		if *texts {
			c.Texts = inquiry.Align(&both[0], &both[1])
		}
		return command.Print(cmd, *asJSON, c, func() string { return c.text(sidebyside.TerminalOf(cmd.OutOrStdout())) })
	}, "recipe", "detection")
}

// readText returns the text that an argument stands for, and a name for it.
func readText(arg string, stdin io.Reader) (name, text string, err error) {
	if arg == "-" {
		data, err := io.ReadAll(stdin)
		return "standard input", string(data), cmp.Or(err, refuseRecord("standard input", data))
	}
	file, explicit := strings.CutPrefix(arg, "@")
	if !explicit && !isFile(arg) {
		return "argument", arg, nil
	}
	if err := files.Check(file, files.HoldsText); err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(file)
	return file, string(data), cmp.Or(err, refuseRecord(file, data))
}

// refuseRecord returns an error for a record: its names and braces would count as words.
func refuseRecord(name string, data []byte) error {
	if !decode.IsObject(data) {
		return nil
	}
	return fmt.Errorf("%s holds a record, and compare wants its text: type jq -r .text FILE and pipe it into this "+
		"command, or compare records by echosieve filter", name)
}

// fileName matches an argument that looks like the name of a file: "old.txt", "./news/1.html".
var fileName = regexp.MustCompile(`^[\w./~-]+\.[A-Za-z]\w{0,4}$`)

// isFile tells whether an argument names a file. An argument that looks like the name of a file is one even
// if no such file exists: the user has mistyped it, and did not mean to compare the name itself.
func isFile(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || fileName.MatchString(arg)
}
