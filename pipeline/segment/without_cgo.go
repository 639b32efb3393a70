//go:build !cgo

package segment

// Gojieba is never made in this build.
type Gojieba struct{}

// NewGojieba returns ErrNoGojieba.
func NewGojieba([]Word) (*Gojieba, error) { return nil, ErrNoGojieba }

// Cut does nothing, as there is no Gojieba in this build.
func (*Gojieba) Cut(dst []string, _ string) []string { return dst }
