package keyspace

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
)

// AppendVerdict encodes the verdict of the article self.
func AppendVerdict(dst []byte, v article.Verdict, self article.Ref) []byte {
	return packed.AppendVerdict(dst, v, self)
}

// DecodeVerdict decodes the verdict of the article self.
func DecodeVerdict(data []byte, self article.Ref) (article.Verdict, error) {
	v, ok := packed.DecodeVerdict(data, self)
	if !ok {
		return article.Verdict{}, ErrCorrupt
	}
	return v, nil
}
