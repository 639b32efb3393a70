package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/simhash"

	"github.com/spf13/cobra"
)

const compareHelp = `Compare shows why two texts are copies of each other, or why not: both fingerprints, the bits in which they
differ, the look-ups by which the service with the same configuration finds A when B comes, the heaviest words
with their weights in each text, and the verdict that the service would reach if B followed A within the window.

A and B are texts, or files that hold one: the name of a file, @FILE, or "-" for standard input. What
a file holds is taken as text, with or without markup, not as a record.`

// comparison is the command's result.
type comparison struct {
	Recipe      string            `json:"recipe"`
	Verdict     string            `json:"verdict"` // exact, near, possible, different, or empty: at least one has no text
	Explanation string            `json:"explanation"`
	Distance    int               `json:"distance"` // bits
	MaxDistance int               `json:"max_distance"`
	Test        string            `json:"test"`         // the one that decided
	Found       bool              `json:"found"`        // by the look-ups of the service
	Layout      comparedLayout    `json:"layout"`       // of the look-ups
	EqualBlocks []int             `json:"equal_blocks"` // 0 has the most significant bits
	Lookups     int               `json:"lookups"`      // for B
	FoundBy     []string          `json:"found_by"`     // those that lead from B to A
	A           comparedText      `json:"a"`
	B           comparedText      `json:"b"`
	Words       []comparedWord    `json:"words"` // heaviest first
	TotalWords  int               `json:"total_words"`
	OnlyA       []string          `json:"only_in_a"` // words, heaviest first, not cut by --top
	OnlyB       []string          `json:"only_in_b"`
	Signature   *compareSignature `json:"signature,omitempty"` // of the second check; absent for little text
}

// comparedLayout is how fingerprints are cut into blocks, as the service with the same configuration cuts them.
type comparedLayout struct {
	Blocks int `json:"blocks"` // start at equal distances, 0 at the most significant bit
	Bits   int `json:"bits"`   // width of each
	Probes int `json:"probes"` // values looked up for each block besides its own, at most
}

// comparedText is one of the two texts.
type comparedText struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // SimHash, hexadecimal
	Bits        string `json:"bits"`        // the same, most significant first
	Digest      string `json:"digest"`      // of the normalised text, hexadecimal
	Features    int    `json:"features"`    // different words that count
	LittleText  bool   `json:"little_text"`
	CleanBytes  int    `json:"clean_bytes"`
}

// comparedWord is a word of either text. A weight of 0 means that the text does not have it.
type comparedWord struct {
	Word    string  `json:"word"`
	IDF     float64 `json:"idf"`
	CountA  int     `json:"count_a"`
	CountB  int     `json:"count_b"`
	WeightA float64 `json:"weight_a"`
	WeightB float64 `json:"weight_b"`
}

func newCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare A B",
		Short:   "Show why two texts are copies of each other, or why not",
		GroupID: groupTry,
		Long:    compareHelp,
		Example: `  echosieve compare old.txt new.html
  echosieve compare "first text" "second text" --json
  curl -s https://news.example/1 | echosieve compare - article.txt --detection.max_distance 6`,
		Args: twoTexts,
	}
	asJSON := addJSONFlag(cmd)
	top := cmd.Flags().Int("top", 20, "number of words to list; 0: all")
	addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		if *top < 0 {
			return errors.New("--top must not be negative")
		}
		if args[0] == "-" && args[1] == "-" {
			return errors.New("standard input can be only one of the two texts")
		}
		var names, texts [2]string
		for i, arg := range args {
			if names[i], texts[i], err = readText(arg, cmd.InOrStdin()); err != nil {
				return err
			}
		}
		recipe, err := loadRecipe(cfg)
		if err != nil {
			return err
		}
		c := compareTexts(recipe, cfg.index(recipe.ID()), names, texts, cfg.Detection)
		if *top > 0 && len(c.Words) > *top {
			c.Words = c.Words[:*top]
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), c)
		}
		return c.print(cmd.OutOrStdout())
	}
	return cmd
}

// twoTexts wants A and B.
func twoTexts(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s wants two texts or files, A and B, but got %d; put a text with spaces in quotes", nameOf(cmd), len(args))
	}
	return nil
}

// readText returns the text that an argument stands for and how to call it.
func readText(arg string, stdin io.Reader) (name, text string, err error) {
	if arg == "-" {
		data, err := io.ReadAll(stdin)
		return "standard input", string(data), err
	}
	file, explicit := strings.CutPrefix(arg, "@")
	if !explicit && !isFile(arg) {
		return "argument", arg, nil
	}
	if err := checkFile(file, holdsText); err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(file)
	return file, string(data), err
}

// fileName is what looks like the name of a file, and like no text.
var fileName = regexp.MustCompile(`^[\w./~-]+\.[A-Za-z]\w{0,4}$`)

// isFile tells names of files from texts: most are no names at all, some too long for one. A name of a file that does not
// exist is taken for one all the same: nobody would compare it with anything.
func isFile(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || fileName.MatchString(arg)
}

// compareTexts does what the service does to two articles, and keeps what it finds on the way.
func compareTexts(recipe *recipe.Recipe, index redisindex.Config, names, texts [2]string, cfg recipe.Config) comparison {
	a, _ := recipe.Fingerprint(texts[0])
	b, _ := recipe.Fingerprint(texts[1])
	plan := index.Plan()
	c := comparison{
		Recipe:      recipe.ID(),
		Distance:    simhash.Distance(a.SimHash, b.SimHash),
		MaxDistance: index.MaxDistance,
		Found:       plan.Finds(&b, &a),
		Layout:      comparedLayout{plan.Layout.Count, plan.Layout.Width(0), plan.Probes},
		EqualBlocks: []int{},
		FoundBy:     []string{},
		A:           describeText(names[0], a),
		B:           describeText(names[1], b),
		Words:       compareWords(recipe.Weights(texts[0]), recipe.Weights(texts[1])),
	}
	c.TotalWords = len(c.Words)
	c.OnlyA, c.OnlyB = []string{}, []string{}
	for _, w := range c.Words {
		switch {
		case w.CountB == 0:
			c.OnlyA = append(c.OnlyA, w.Word)
		case w.CountA == 0:
			c.OnlyB = append(c.OnlyB, w.Word)
		}
	}
	c.addLooks(plan, &a, &b)
	judgement := index.Compare(&a, &b)
	c.Test = judgement.Reason.String()
	c.Signature = compareSignatures(a.Signature, b.Signature)
	c.explain(judgement, cfg)
	return c
}

// addLooks lists the blocks that are equal and the look-ups by which the service finds A when B comes.
func (c *comparison) addLooks(plan lookup.Plan, a, b *article.Article) {
	looks := plan.Lookups(b, a)
	c.Lookups = len(looks)
	for _, look := range looks {
		switch {
		case !look.Found || !c.Found: // little text is found by its whole digest only
		case look.Block == plan.Layout.Count:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("anchor %d", look.Number))
		case look.Number == 0:
			c.EqualBlocks = append(c.EqualBlocks, look.Block)
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d", look.Block))
		default:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d probe %d", look.Block, look.Number))
		}
	}
}

func describeText(name string, a article.Article) comparedText {
	return comparedText{
		Name: name, Fingerprint: a.SimHash.String(), Bits: a.SimHash.Bits(), Digest: fmt.Sprintf("%x", a.Digest),
		Features: a.Features, LittleText: a.LittleText, CleanBytes: a.CleanBytes,
	}
}

// compareWords joins the words of two texts, the heaviest in either first.
func compareWords(a, b []recipe.WeightedWord) []comparedWord {
	words := make([]comparedWord, 0, len(a)+len(b))
	at := make(map[string]int, len(a)+len(b))
	for _, w := range a {
		at[w.Word] = len(words)
		words = append(words, comparedWord{Word: w.Word, IDF: w.IDF, CountA: w.Count, WeightA: w.Weight})
	}
	for _, w := range b {
		i, both := at[w.Word]
		if !both {
			i = len(words)
			words = append(words, comparedWord{Word: w.Word, IDF: w.IDF})
		}
		words[i].CountB, words[i].WeightB = w.Count, w.Weight
	}
	slices.SortFunc(words, func(x, y comparedWord) int {
		return cmp.Or(
			cmp.Compare(max(y.WeightA, y.WeightB), max(x.WeightA, x.WeightB)),
			cmp.Compare(x.Word, y.Word))
	})
	return words
}
