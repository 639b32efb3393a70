package article

// Script is the script in which most letters of an article are written.
type Script uint8

// The scripts that are told apart. Their names are label values of metrics.
const (
	NoScript Script = iota // no letters
	Latin
	Han
	Kana
	Hangul
	Cyrillic
	Greek
	Arabic
	Hebrew
	Devanagari
	Thai
	OtherScript
	Scripts // number of scripts
)

// String returns the name, such as "latin".
func (s Script) String() string {
	return [Scripts]string{
		"none", "latin", "han", "kana", "hangul", "cyrillic", "greek", "arabic", "hebrew", "devanagari", "thai", "other",
	}[s]
}
