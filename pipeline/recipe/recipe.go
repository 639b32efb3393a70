// Package recipe turns a text into an article's fingerprint, digest, anchors and signature. It is pure: it
// knows neither Kafka nor Redis, and the same recipe id means the same results on every machine.
//
// It goes through the rooms once, in the order of Recipe.Fingerprint (fingerprint.go):
//
//   - package text cleans the text
//   - package page leaves out what is no part of the article
//   - package text cuts the article into words, counts and weighs them
//   - three writers: package simhash makes the fingerprint, writeDigest the digest, package evidence the anchors and
//     the signature, with the article's numbers
//
// Package evidence also judges two articles by their signatures. Everything that can change a result is part
// of the recipe's id. The classic recipes (package classic) share the digest only.
package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/dict"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/limits"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
	"echosieve/simhash"
)

// Config says how fingerprints are made and compared. All settings except Probes, Anchors and Learn
// become part of the recipe's id: Probes and Anchors only decide how many candidates the index finds, and each sentence
// that is learnt says from when it counts.
type Config struct {
	Name           string `setting:"-"`
	MaxDistance    int    `setting:"-"`
	Blocks         int    `setting:"-"`
	Probes         int    `setting:"probes" hidden:"true" range:"-1..63"`
	Anchors        int    `setting:"anchors" hidden:"true" range:"-1..8"`
	UserDictionary string `setting:"user_dictionary" file:"true"`
	StopWords      string `setting:"stop_words" file:"true" help:"File of more words to ignore, one a line."`
	HTML           string `setting:"html"`

	// Learn says whether sentences that publishers repeat are left out. Who makes the pipeline sees to it: see LeaveOut.
	Learn bool `setting:"learn"`

	Carriers []string `setting:"carriers"`
	// Never is no part of the id: it counts for articles that are not decided yet. See evidence.ParseNever.
	Never []string `setting:"never"`

	Thresholds evidence.Thresholds `setting:",squash"`
	// Off is for measurements only, such as eval ablate of echosieve-lab, and no part of the id.
	Off Off `setting:"-"`
}

// Off is what a recipe does without.
type Off struct {
	Rules uint   // bits, see page.NewFinder
	Words string // one of text.WordLists
}

// AllCarry stands for all publishers among those that carry others.
const AllCarry = "*"

// News is the name of the default recipe; the other recipes are in package classic.
const News = "news"

// The versions of the recipes. Raise a version when code changes the fingerprints or digests of a recipe, or
// how it judges them: articles that the old code stored must not be compared with new ones.
// TestGoldenArticles and TestVerdictsAreTheSame fail when such a change was made. The numbers of package
// limits, the rows of the rule, the version of signatures and the dictionaries are in the id anyway.
const (
	newsVersion    = 10
	classicVersion = 2
)

// Names returns the names of the recipes.
func Names() []string { return append([]string{News}, classic.Names()...) }

// The largest values of two settings. Beyond either, most articles would be candidates of each other:
// unrelated fingerprints are 32 bits apart on average, and a block of less than 4 bits has 8 values or fewer.
const (
	maxMaxDistance = 32
	maxBlocks      = 16
)

// newsDefaults and classicDefaults hold the values of the settings that a Config leaves to the recipe. The
// classic recipes have one block more than MaxDistance, so that their look-ups miss no candidate.
var (
	newsDefaults = Config{
		MaxDistance: limits.MaxDistance, Blocks: 3, Probes: 4, Anchors: 6}
	classicDefaults = Config{MaxDistance: simhash.DefaultMaxDistance}
)

// DefaultConfig returns the recipe news, with all values left to it.
func DefaultConfig() Config {
	return Config{
		Name: News, MaxDistance: -1, Probes: -1, Anchors: -1, HTML: page.HTMLArticle,
		Learn: true, Thresholds: evidence.DefaultThresholds(),
	}
}

// resolved returns c with the recipe's own values for the settings that c leaves to it.
func (c Config) resolved() Config {
	own := newsDefaults
	if c.Name != News {
		own = classicDefaults
	}
	for at, value := range map[*int]int{
		&c.MaxDistance: own.MaxDistance, &c.Probes: own.Probes, &c.Anchors: own.Anchors,
	} {
		if *at == -1 {
			*at = value
		}
	}
	c.Blocks = cmp.Or(c.Blocks, own.Blocks, c.MaxDistance+1)
	return c
}

// Validate returns an error that names the first setting that cannot work. It opens no files.
func (c Config) Validate() error {
	if !slices.Contains(Names(), c.Name) {
		return fmt.Errorf("unknown recipe %q, known: %s", c.Name, strings.Join(Names(), ", "))
	}
	c = c.resolved()
	for _, f := range []struct {
		setting         string
		is, least, most int
	}{
		{"max_distance", c.MaxDistance, 0, maxMaxDistance}, {"blocks", c.Blocks, 1, maxBlocks},
		{"probes", c.Probes, 0, simhash.MaxProbes}, {"anchors", c.Anchors, 0, evidence.MaxAnchors},
	} {
		if f.is < f.least || f.is > f.most {
			return fmt.Errorf("%s is %d, must be between %d and %d", f.setting, f.is, f.least, f.most)
		}
	}
	if c.HTML != page.HTMLText && c.HTML != page.HTMLArticle {
		return fmt.Errorf("html is %q, must be %s or %s", c.HTML, page.HTMLArticle, page.HTMLText)
	}
	if _, err := evidence.ParseNever(c.Never); err != nil {
		return err
	}
	return c.Thresholds.Validate()
}

// Recipe turns texts into articles. Recipes with the same id give the same text the same fingerprint, digest
// and signature, on every machine. Safe for concurrent use.
type Recipe struct {
	config    Config
	id        string
	segmenter *text.Segmenter
	classic   *classic.Extractor // nil in the recipe news
	scratch   sync.Pool          // of *scratch
	// rows are the sentences that publishers repeat, nil if nothing is learnt.
	rows  *learnt.Rows
	never evidence.Never
}

// Load checks the configuration, reads its files and loads the dictionaries, which stay loaded (see
// text.LoadSegmenter).
func Load(config Config) (*Recipe, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("load recipe: %w", err)
	}
	config = config.resolved()
	userWords, err := text.ReadUserWords(config.UserDictionary)
	if err != nil {
		return nil, fmt.Errorf("load recipe: user dictionary: %w", err)
	}
	stopWords, err := text.ReadStopWords(config.StopWords)
	if err != nil {
		return nil, fmt.Errorf("load recipe: stop words: %w", err)
	}
	id, err := recipeID(config, userWords, stopWords, limits.All(), evidence.Format())
	if err != nil {
		return nil, fmt.Errorf("load recipe: %w", err)
	}
	terms, err := text.LoadTerms(stopWords, config.Off.Words)
	if err != nil {
		return nil, fmt.Errorf("load recipe: %w", err)
	}
	words, err := text.LoadSegmenter(userWords)
	if err != nil {
		return nil, fmt.Errorf("load recipe: %w", err)
	}
	r := &Recipe{config: config, id: id, segmenter: words, never: config.Rule().Never}
	if config.Name != News {
		if r.classic, err = classic.New(config.Name, words.CutRaw); err != nil {
			return nil, fmt.Errorf("load recipe: %w", err)
		}
	}
	r.scratch.New = func() any {
		return &scratch{page: page.NewFinder(config.HTML, config.Off.Rules), words: text.NewCounter(terms)}
	}
	return r, nil
}

// recipeID hashes, in a fixed order, all settings, files, dictionaries and numbers that decide about
// fingerprints and verdicts. numbers are those of package limits, format is that of package evidence. Of what
// is learnt it hashes the format only: each sentence says from which record timestamp it counts.
func recipeID(config Config, userWords, stopWords []byte, numbers []float64, format string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%v %s\n", numbers, format)
	fmt.Fprintf(h, "%d %d %v %s %d %d %d %q\n", config.MaxDistance, config.Blocks, config.Thresholds, config.HTML,
		len(userWords), len(stopWords), learnt.Format, slices.Sorted(slices.Values(config.Carriers)))
	if !config.Learn {
		h.Write([]byte("whole\n"))
	}
	h.Write(userWords)
	h.Write(stopWords)
	for _, name := range []string{dict.Words, dict.HMM, dict.IDF, dict.EnglishIDF, dict.StopWords, dict.TSCharacters,
		dict.FunctionWords} {
		data, err := dict.Read(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
	}
	version := newsVersion
	if config.Name != News {
		version = classicVersion
	}
	return fmt.Sprintf("%s-%d-%s", config.Name, version, hex.EncodeToString(h.Sum(nil)[:4])), nil
}

// ID names the recipe with everything that changes its fingerprints or verdicts: name, version and 8
// hexadecimal digits of a hash over settings, dictionaries, limits and the rows of the rule, such as
// "news-10-3fa9c1d2". It holds only a-z, 0-9 and hyphens.
func (r *Recipe) ID() string { return r.id }

// LeaveOut makes the recipe leave sentences out that publishers repeat, and hash the sentences of articles. It must be
// called before the recipe is used. The classic recipes leave nothing out.
func (r *Recipe) LeaveOut(rows *learnt.Rows) { r.rows = rows }

// Search is what the recipe requires of an index.
func (r *Recipe) Search() article.Search { return r.config.Search() }

// Search is what the recipe requires of an index.
func (c Config) Search() article.Search {
	c = c.resolved()
	s := article.Search{Rule: article.Rule{MaxDistance: c.MaxDistance}, Blocks: c.Blocks, Probes: c.Probes}
	if c.Name == News {
		rule := c.Rule()
		// A signature of an unknown version, such as one that a newer version of Echosieve has stored, holds no information,
		// and the article is not judged to be a copy.
		s.Check = func(distance int, later, earlier *article.Article) article.Judgement {
			return rule.Judge(distance, evidence.CompareArticles(later, earlier))
		}
		if c.Anchors > 0 { // without anchors, blocks must find a part and its whole at any distance up to max_distance
			s.LoneDistance = limits.LoneDistance
		}
	}
	return s
}

// Rule returns the rule of the recipe news. The configuration must be valid.
func (c Config) Rule() evidence.Rule {
	never, _ := evidence.ParseNever(c.Never)
	return evidence.Rule{Thresholds: c.Thresholds, Never: never}
}
