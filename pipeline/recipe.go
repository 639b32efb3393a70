package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"echosieve/pipeline/dict"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// RecipeConfig says how fingerprints are made and compared. All of it but Probes becomes part of the recipe's id.
type RecipeConfig struct {
	Name           string `koanf:"-"`
	MaxDistance    int    `koanf:"max_distance" help:"Largest Hamming distance between the fingerprints of copies, in bits; those within it face the second check."`
	Blocks         int    `koanf:"blocks" help:"Number of blocks under which a fingerprint is stored, 1 to 16."`
	Probes         int    `koanf:"probes" help:"Look-ups per block besides its own value, 0 to 63: more find more copies and cost more; see docs/tuning.md. Can be changed at any time."`
	MinFeatures    int    `koanf:"min_features" help:"An article with fewer different words is little text: only the same text counts as a copy of it."`
	UserDictionary string `koanf:"user_dictionary" help:"File of more words for segmentation, one a line: word [frequency] [tag]."`
	StopWords      string `koanf:"stop_words" help:"File of more words that do not count, one a line."`

	Thresholds signature.Thresholds `koanf:",squash"`
}

// recipeVersions has the known recipes and their versions. A change of code or tables that changes fingerprints
// or digests of a recipe raises its version; TestGoldenArticles notices.
var recipeVersions = map[string]int{"news": 2}

// Beyond these limits every article would be a candidate of every other.
const (
	maxMaxDistance = 32
	maxBlocks      = 16
)

// DefaultRecipeConfig returns the recipe "news" with its defaults. Below 16 different words articles on one template
// (a flash on the stock market, a broadcast's opening) come close to each other; one article in a hundred is that
// short.
func DefaultRecipeConfig() RecipeConfig {
	return RecipeConfig{
		Name: "news", MaxDistance: 16, Blocks: 4, Probes: 16, MinFeatures: 16,
		Thresholds: signature.DefaultThresholds(),
	}
}

// Validate reports the first setting that cannot work. It opens no files.
func (c RecipeConfig) Validate() error {
	if _, ok := recipeVersions[c.Name]; !ok {
		return fmt.Errorf("unknown recipe %q, known: %s", c.Name,
			strings.Join(slices.Sorted(maps.Keys(recipeVersions)), ", "))
	}
	if c.MaxDistance < 0 || c.MaxDistance > maxMaxDistance {
		return fmt.Errorf("max_distance is %d, must be between 0 and %d", c.MaxDistance, maxMaxDistance)
	}
	if c.Blocks < 1 || c.Blocks > maxBlocks {
		return fmt.Errorf("blocks is %d, must be between 1 and %d", c.Blocks, maxBlocks)
	}
	if c.Probes < 0 || c.Probes > simhash.MaxProbes {
		return fmt.Errorf("probes is %d, must be between 0 and %d", c.Probes, simhash.MaxProbes)
	}
	if c.MinFeatures < 1 {
		return fmt.Errorf("min_features is %d, must be at least 1", c.MinFeatures)
	}
	return c.Thresholds.Validate()
}

// Recipe turns texts into fingerprints. The same recipe id means the same fingerprint and digest for the same
// text, on every machine. Safe for concurrent use.
type Recipe struct {
	config    RecipeConfig
	id        string
	segmenter *segmenter
	terms     *terms
	scratch   sync.Pool // of *scratch
}

// LoadRecipe checks the configuration, reads its files and loads the dictionaries, which takes about a second
// the first time and keeps about 150 MB for the life of the process, once per user dictionary.
func LoadRecipe(config RecipeConfig) (*Recipe, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	userWords, err := readUserWords(config.UserDictionary)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: user dictionary: %w", err)
	}
	stopWords, err := readStopWords(config.StopWords)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: stop words: %w", err)
	}
	id, err := recipeID(config, userWords, stopWords)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	terms, err := loadTerms(stopWords)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	segmenter, err := loadSegmenter(userWords)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	r := &Recipe{config: config, id: id, segmenter: segmenter, terms: terms}
	r.scratch.New = func() any { return newScratch() }
	return r, nil
}

// recipeID hashes everything that decides about fingerprints and verdicts, in a fixed order.
func recipeID(config RecipeConfig, userWords, stopWords []byte) (string, error) {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%d %d %d %v %d %d\n", config.MaxDistance, config.Blocks, config.MinFeatures, config.Thresholds,
		len(userWords), len(stopWords)))
	h.Write(userWords)
	h.Write(stopWords)
	for _, name := range []string{dict.Words, dict.HMM, dict.IDF, dict.EnglishIDF, dict.StopWords, dict.TSCharacters} {
		data, err := dict.Read(name)
		if err != nil {
			return "", err
		}
		h.Write(fmt.Appendf(nil, "%s %d\n", name, len(data)))
		h.Write(data)
	}
	return fmt.Sprintf("%s-%d-%s", config.Name, recipeVersions[config.Name], hex.EncodeToString(h.Sum(nil)[:4])), nil
}

// ID names the recipe with all that changes its fingerprints or verdicts: name, version and 8 hexadecimal digits
// of a hash over settings and dictionaries, such as "news-1-3fa9c1d2". It holds only a-z, 0-9 and hyphens.
func (r *Recipe) ID() string { return r.id }

// Search is how an index finds and judges articles of this recipe.
func (r *Recipe) Search() Search { return r.config.Search() }

// Search is how an index finds and judges articles of the recipe.
func (c RecipeConfig) Search() Search {
	return Search{
		Layout: simhash.Layout{Count: c.Blocks}, Probes: c.Probes, MaxDistance: c.MaxDistance,
		Judge: judgeBySignature(c.Thresholds),
	}
}
