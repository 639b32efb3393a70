package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/dict"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// Config says how fingerprints are made and compared. All of it but Probes, Anchors and Segmenter becomes part of the
// recipe's id.
type Config struct {
	Name           string `koanf:"-"`
	MaxDistance    int    `koanf:"max_distance" help:"Most differing bits between the fingerprints of two copies; in news, above 16 only for a text and its part. Raised: more copies with text cut, more CPU (docs/scale.md). -1: 20 for news, 3 for classic ones."`
	Blocks         int    `koanf:"blocks" help:"Blocks of a fingerprint, up to 16. Raised: more copies met, more look-ups and memory. 0: 4 for news, max_distance + 1 for classic ones."`
	Probes         int    `koanf:"probes" help:"Extra look-ups per block, up to 63. Raised: more reworded copies met, more CPU (docs/tuning.md). -1: 4 for news, 0 for classic ones."`
	Anchors        int    `koanf:"anchors" help:"Look-ups by samples of the wording, up to 8. Raised: more copies with text cut or added met. Below 2, fewer are stored. -1: 4 for news, 0 for classic ones."`
	MinFeatures    int    `koanf:"min_features" help:"Articles with fewer different words are copies of identical text only. 0: 4 for news, 1 for classic ones."`
	FlashFeatures  int    `koanf:"flash_features" help:"Articles with fewer different words are flashes: a copy may only add words before or after. 0: 16 for news, none for classic ones."`
	Segmenter      string `koanf:"segmenter" help:"native, or gojieba (C++, needs cgo): the same words for 6 times (Chinese) to 25 times (English) the CPU and 100 MB more."`
	UserDictionary string `koanf:"user_dictionary" help:"File of more words for segmentation, one a line: word [frequency] [tag]."`
	StopWords      string `koanf:"stop_words" help:"File of more words to ignore, one a line."`

	Thresholds signature.Thresholds `koanf:",squash"`
}

// News is the name of the default recipe; the others are those of package classic.
const News = "news"

// A change of code or tables that changes fingerprints, signatures or digests of a recipe, or how it judges them, raises
// its version. TestGoldenArticles and the tests of package signature notice.
const (
	newsVersion    = 4
	classicVersion = 1
)

// Names returns the names of the recipes.
func Names() []string { return append([]string{News}, classic.Names()...) }

// Beyond these limits every article would be a candidate of every other.
const (
	maxMaxDistance = 32
	maxBlocks      = 16
)

// DefaultConfig returns the recipe "news", with everything left to it.
func DefaultConfig() Config {
	return Config{
		Name: News, MaxDistance: -1, Probes: -1, Anchors: -1, Segmenter: SegmenterNative, Thresholds: signature.DefaultThresholds(),
	}
}

// resolved fills in what is left to the recipe. In the recipe news, below 16 different words articles on one template (a
// flash on the stock market, a broadcast's opening) come close to each other; one article in a hundred is that short. Below 4
// a fingerprint means nothing.
func (c Config) resolved() Config {
	distance, blocks, probes, anchors, features, flash := 20, 4, 4, 4, 4, 16
	if c.Name != News {
		distance, probes, anchors, features, flash = simhash.DefaultMaxDistance, 0, 0, 1, 0
	}
	if c.MaxDistance == -1 {
		c.MaxDistance = distance
	}
	if c.Name != News {
		blocks = c.MaxDistance + 1
	}
	if c.Blocks == 0 {
		c.Blocks = blocks
	}
	if c.Probes == -1 {
		c.Probes = probes
	}
	if c.Anchors == -1 {
		c.Anchors = anchors
	}
	if c.MinFeatures == 0 {
		c.MinFeatures = features
	}
	if c.FlashFeatures == 0 {
		c.FlashFeatures = flash
	}
	return c
}

// Validate reports the first setting that cannot work. It opens no files.
func (c Config) Validate() error {
	if !slices.Contains(Names(), c.Name) {
		return fmt.Errorf("unknown recipe %q, known: %s", c.Name, strings.Join(Names(), ", "))
	}
	c = c.resolved()
	if c.MaxDistance < 0 || c.MaxDistance > maxMaxDistance {
		return fmt.Errorf("max_distance is %d, must be between 0 and %d", c.MaxDistance, maxMaxDistance)
	}
	if c.Blocks < 1 || c.Blocks > maxBlocks {
		return fmt.Errorf("blocks is %d, must be between 1 and %d", c.Blocks, maxBlocks)
	}
	if c.Probes < 0 || c.Probes > simhash.MaxProbes {
		return fmt.Errorf("probes is %d, must be between 0 and %d", c.Probes, simhash.MaxProbes)
	}
	if c.Anchors < 0 || c.Anchors > signature.MaxAnchors {
		return fmt.Errorf("anchors is %d, must be between 0 and %d", c.Anchors, signature.MaxAnchors)
	}
	if c.MinFeatures < 1 {
		return fmt.Errorf("min_features is %d, must be at least 1", c.MinFeatures)
	}
	if c.Segmenter != SegmenterNative && c.Segmenter != SegmenterGojieba {
		return fmt.Errorf("segmenter is %q, must be %s or %s", c.Segmenter, SegmenterNative, SegmenterGojieba)
	}
	if c.FlashFeatures < 0 {
		return fmt.Errorf("flash_features is %d, must not be negative", c.FlashFeatures)
	}
	return c.Thresholds.Validate()
}

// Recipe turns texts into fingerprints. The same recipe id means the same fingerprint and digest for the same
// text, on every machine. Safe for concurrent use.
type Recipe struct {
	config    Config
	id        string
	segmenter *segmenter
	terms     *terms
	classic   *classic.Extractor // nil in the recipe news
	scratch   sync.Pool          // of *scratch
}

// Load checks the configuration, reads its files and loads the dictionaries. The segmenter's stay loaded for the life of
// the process, once per user dictionary.
func Load(config Config) (*Recipe, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	config = config.resolved()
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
	words, err := loadSegmenter(config.Segmenter, userWords)
	if err != nil {
		return nil, fmt.Errorf("pipeline: load recipe: %w", err)
	}
	r := &Recipe{config: config, id: id, segmenter: words, terms: terms}
	if config.Name != News {
		raw := &segmenter{cutter: words.cutter} // no raw text is plain
		if r.classic, err = classic.New(config.Name, func(dst []string, text string) []string {
			return raw.cut(dst, text, nil)
		}); err != nil {
			return nil, fmt.Errorf("pipeline: load recipe: %w", err)
		}
	}
	r.scratch.New = func() any { return newScratch() }
	return r, nil
}

// recipeID hashes everything that decides about fingerprints and verdicts, in a fixed order.
func recipeID(config Config, userWords, stopWords []byte) (string, error) {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%d %d %d %d %v %d %d\n", config.MaxDistance, config.Blocks, config.MinFeatures, config.FlashFeatures, config.Thresholds,
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
	version := newsVersion
	if config.Name != News {
		version = classicVersion
	}
	return fmt.Sprintf("%s-%d-%s", config.Name, version, hex.EncodeToString(h.Sum(nil)[:4])), nil
}

// ID names the recipe with all that changes its fingerprints or verdicts: name, version and 8 hexadecimal digits
// of a hash over settings and dictionaries, such as "news-1-3fa9c1d2". It holds only a-z, 0-9 and hyphens.
func (r *Recipe) ID() string { return r.id }

// Search is how an index finds and judges articles of this recipe.
func (r *Recipe) Search() article.Search { return r.config.Search() }

// Search is how an index finds and judges articles of the recipe.
func (c Config) Search() article.Search {
	c = c.resolved()
	s := article.Search{Layout: simhash.Layout{Count: c.Blocks}, Probes: c.Probes, MaxDistance: c.MaxDistance}
	if c.Name == News {
		s.Judge = judgeBySignature(c.Thresholds)
	}
	return s
}
