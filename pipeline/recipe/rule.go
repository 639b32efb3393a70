package recipe

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/signature"
)

// Search is what the recipe asks of an index.
func (r *Recipe) Search() article.Search { return r.config.Search() }

// Search is what the recipe asks of an index.
func (c Config) Search() article.Search {
	c = c.resolved()
	s := article.Search{Rule: article.Rule{MaxDistance: c.MaxDistance}, Blocks: c.Blocks, Probes: c.Probes}
	if c.Name == News {
		s.Check = checkSignatures(c.Thresholds)
	}
	return s
}

// checkSignatures is the second check of the recipe news. A signature of an unknown version, such as one that a newer version of Echosieve
// has stored, holds no information, and the article is not judged to be a copy.
func checkSignatures(thresholds signature.Thresholds) article.SecondCheck {
	return func(distance int, a, b []byte) article.Judgement {
		x, _ := signature.Decode(a)
		y, _ := signature.Decode(b)
		return signature.Judge(distance, signature.Compare(&x, &y), thresholds)
	}
}
