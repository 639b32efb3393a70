package index

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

const lookupHelp = `Lookup prints what the index knows of an article:

  TOPIC/PARTITION/OFFSET   coordinates of the input record, or of its output: its entry. Reads the whole index
  0123456789abcdef         a fingerprint, as the header echosieve-fingerprint has it: its entries. Fast
  @FILE or -               a text: the stored articles that the look-ups for it find, and its verdict against each. Fast
  anything else            the id of an article: its entries. Reads the whole index

--as text, id, fingerprint or coordinates says what the argument is if it looks like something else. Nothing is stored.
An exact repeat has no entry of its own: look up its text or its fingerprint.

It needs the rights of the service, to read the whole index SCAN, DBSIZE and HGETALL, and for coordinates of an output
Read on that topic.

Exit codes: 0 found; 1 the index knows nothing of it; 2 failed.`

// known is a stored article as the command lookup prints it.
type known struct {
	*inquiry.Stored
	Judged *inquiry.Judged `json:"judged,omitempty"` // what the text that is looked up would be to it
}

func newLookupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lookup TEXT|ID|FINGERPRINT|COORDINATES", Short: "Print what the index knows of an article",
		Long: lookupHelp,
		Example: `  echosieve index lookup articles/3/128077 --config echosieve.yaml
  echosieve index lookup @article.html --config echosieve.yaml --json`,
		Args: command.Wants(1, "one text, id, fingerprint or coordinates"),
	}
	asJSON := command.AddJSONFlag(cmd)
	as := cmd.Flags().String("as", "",
		"what the argument is: text, id, fingerprint or coordinates (default: by its form)")
	config.AddFlags(cmd.Flags(), "kafka", "redis", "window", "recipe", "detection")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		value := args[0]
		kind, err := kindOf(*as, value, "text", "id", "fingerprint", "coordinates")
		if err == nil && kind == "text" {
			value, err = textOf(value, cmd.InOrStdin())
		}
		if err != nil {
			return err
		}
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		found, err := lookup(cmd, index, kind, value)
		if err == nil {
			err = command.Print(cmd, *asJSON, found, func() string { return knownText(found) })
		}
		if err == nil && len(found) == 0 {
			err = &command.AnswerError{Text: nothingKnown(*as, kind, value)}
		}
		return err
	}
	return cmd
}

// nothingKnown says what was looked up in vain: kind is what the argument was taken for, as the value of --as.
func nothingKnown(as, kind, value string) string {
	answer := "no article with the " + kind + " " + strconv.Quote(value) + " is in the index"
	switch kind {
	case "text":
		answer = "the look-ups for this text find no article"
	case "id", "coordinates":
		answer += " (most exact repeats are not stored: echosieve explain shows them)"
	}
	if as == "" {
		answer += "; if the argument is something else, say what with --as"
	}
	return answer
}

// kindOf says what an argument is, one of kinds: as says so, or its form.
func kindOf(as, arg string, kinds ...string) (string, error) {
	_, notCoordinates := article.ParseCoordinates(arg)
	_, notFingerprint := simhash.Parse(arg)
	switch {
	case as != "" && !slices.Contains(kinds, as):
		last := len(kinds) - 1
		return "", fmt.Errorf("--as wants %s or %s, not %q", strings.Join(kinds[:last], ", "), kinds[last], as)
	case as == "coordinates" && notCoordinates != nil:
		return "", notCoordinates
	case as == "fingerprint" && notFingerprint != nil:
		return "", notFingerprint
	case as != "":
		return as, nil
	case notCoordinates == nil:
		return "coordinates", nil
	case !slices.Contains(kinds, "text"):
		return "id", nil
	case notFingerprint == nil:
		return "fingerprint", nil
	case arg == "-", strings.HasPrefix(arg, "@"), strings.ContainsAny(arg, " \n"):
		return "text", nil
	default:
		return "id", nil
	}
}

// textOf reads a text that an argument may name as a file, or standard input.
func textOf(arg string, stdin io.Reader) (string, error) {
	file, isFile := strings.CutPrefix(arg, "@")
	switch {
	case arg == "-":
		text, err := io.ReadAll(stdin)
		return string(text), err
	case isFile:
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return arg, nil
}

func lookup(cmd *cobra.Command, index *opened, kind, value string) (found []known, err error) {
	ctx := cmd.Context()
	switch kind {
	case "text":
		a, _ := index.recipe.Fingerprint(value, article.Origin{})
		if reject := record.NoArticle(&a); reject != nil {
			return nil, reject
		}
		a.Time = time.Now()
		advice, err := index.Advise(ctx, &a)
		judge := inquiry.NewJudge(index.cfg, index.recipe)
		for i := range advice.Candidates {
			judged := judge.Candidate(&a, &advice.Candidates[i])
			found = append(found, known{inquiry.NewStored(&advice.Candidates[i].StoredArticle), &judged})
		}
		return found, err
	case "fingerprint":
		fp, _ := simhash.Parse(value) // kindOf has seen to it that it is one
		articles, err := index.Stored(ctx, &article.Article{Fingerprint: fp, Time: time.Now()})
		for i := range articles {
			found = append(found, known{Stored: inquiry.NewStored(&articles[i])})
		}
		return found, err
	}
	at := article.Coordinates{}
	if kind == "coordinates" {
		if at, err = index.inputOf(cmd, value); err != nil {
			return nil, err
		}
	}
	err = index.articles(ctx, cmd.ErrOrStderr(), func(articles []keyspace.StoredArticle) error {
		for i := range articles {
			if s := &articles[i]; kind == "id" && s.ID == value || kind == "coordinates" && s.Coordinates == at {
				found = append(found, known{Stored: inquiry.NewStored(s)})
			}
		}
		return nil
	})
	return found, err
}

func knownText(found []known) string {
	var out lines
	for _, k := range found {
		out.line("%s  id %s  %s", k.Record, k.ID, k.Time.Format(time.RFC3339))
		verdict := k.Verdict
		if k.Original != "" {
			verdict += " (" + k.Reason + ") of " + k.Original + ", root " + k.Root
		}
		out.line("  %s; %s", verdict, k.Stored)
		if k.Judged != nil {
			out.line("  the text is %s", k.Judged)
		}
	}
	return out.String()
}
