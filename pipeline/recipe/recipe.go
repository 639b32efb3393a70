package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"echosieve/pipeline/classic"
	"echosieve/pipeline/dict"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// Config says how fingerprints are made and compared. All of it but Probes, Anchors and Segmenter becomes part of the
// recipe's id.
type Config struct {
	Name           string `koanf:"-"`
	MaxDistance    int    `koanf:"max_distance" help:"Largest Hamming distance between the fingerprints of copies, in bits. In the recipe news, those within it face the second check. Beyond 16, only of articles of which one contains the other. -1: the recipe's own, 20 for news, 3 for the classic ones."`
	Blocks         int    `koanf:"blocks" help:"Number of blocks under which a fingerprint is stored, up to 16. 0: the recipe's own, 4 for news, max_distance + 1 for the classic ones."`
	Probes         int    `koanf:"probes" help:"Look-ups per block besides its own value, up to 63: more find more copies and cost more; see docs/tuning.md. Can be changed at any time. -1: the recipe's own, 4 for news, none for the classic ones."`
	Anchors        int    `koanf:"anchors" help:"Look-ups beside those of the fingerprint: by samples of the wording (runs of four words), up to 8; an article is stored under the first two. 0: none. -1: the recipe's own, 4 for news, none for the classic ones."`
	MinFeatures    int    `koanf:"min_features" help:"An article with fewer different words is little text: only the same text counts as a copy of it. 0: the recipe's own, 4 for news, 1 for the classic ones."`
	FlashFeatures  int    `koanf:"flash_features" help:"An article with fewer different words is a flash: only the same text counts as a copy, or one with something added before or after it. 0: the recipe's own, 16 for news, none for the classic ones."`
	Segmenter      string `koanf:"segmenter" help:"Library that cuts texts into words: native, or gojieba, which is C++ and takes 6 times (Chinese) to 25 times (English) the CPU time and over 100 MB more memory. Both cut the same words, so that you can change it at any time. gojieba needs a program that was built with cgo."`
	UserDictionary string `koanf:"user_dictionary" help:"File of more words for segmentation, one a line: word [frequency] [tag]."`
	StopWords      string `koanf:"stop_words" help:"File of more words that do not count, one a line."`

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
