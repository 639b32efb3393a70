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
	"echosieve/simhash"
)

// RecipeConfig says how fingerprints are made and compared. Whatever it holds becomes part of the recipe's id.
type RecipeConfig struct {
	Name           string `koanf:"-"`
	MaxDistance    int    `koanf:"max_distance" help:"Largest Hamming distance between the fingerprints of copies, in bits. Each bit more finds more copies, needs one more look-up per article and confuses more look-alikes."`
	MinFeatures    int    `koanf:"min_features" help:"An article with fewer different words is little text: only the same text counts as a copy of it."`
	UserDictionary string `koanf:"user_dictionary" help:"File of more words for segmentation, one a line: word [frequency] [tag]."`
	StopWords      string `koanf:"stop_words" help:"File of more words that do not count, one a line."`
}

// recipeVersions has the known recipes and their versions. A change of code or tables that changes fingerprints
// or digests of a recipe raises its version; TestGoldenArticles notices.
var recipeVersions = map[string]int{"news": 1}

// maxMaxDistance keeps blocks at 4 bits or more; narrower ones would each hold a good part of all articles.
const maxMaxDistance = 15

// DefaultRecipeConfig returns the recipe "news" with its defaults. Below 16 different words articles on one template
// (a flash on the stock market, a broadcast's opening) come close to each other; one article in a hundred is that
// short.
func DefaultRecipeConfig() RecipeConfig {
	return RecipeConfig{Name: "news", MaxDistance: simhash.DefaultMaxDistance, MinFeatures: 16}
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
	if c.MinFeatures < 1 {
		return fmt.Errorf("min_features is %d, must be at least 1", c.MinFeatures)
	}
	return nil
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
	h.Write(fmt.Appendf(nil, "%d %d %d %d\n", config.MaxDistance, config.MinFeatures, len(userWords), len(stopWords)))
	h.Write(userWords)
	h.Write(stopWords)
	for _, name := range []string{dict.Words, dict.HMM, dict.IDF, dict.StopWords, dict.TSCharacters} {
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

// MaxDistance is the largest Hamming distance between the fingerprints of two copies, in bits.
func (r *Recipe) MaxDistance() int { return r.config.MaxDistance }
