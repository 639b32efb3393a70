package figures

// LanguageResult holds the figures of one language.
type LanguageResult struct {
	Language   string  `json:"language"`
	Articles   int     `json:"articles"`   // of the file
	Candidates float64 `json:"candidates"` // an article, in a corpus of CorpusArticles
	// Stream counts the edited copies at the end of a stream of articles that are made of shuffled sentences,
	// and the copies caught.
	StreamArticles int     `json:"stream_articles"`
	StreamCopies   int     `json:"stream_copies"`
	StreamCaught   int     `json:"stream_caught"`
	StreamOnes     float64 `json:"stream_candidates"` // candidates of a copy
	PairsResult
}

// LanguagesResult is the result of eval languages.
type LanguagesResult struct {
	Part      string           `json:"part"`
	Languages []LanguageResult `json:"languages"`
	All       PairsResult      `json:"all"`
}

// CorpusArticles is the number of articles in which candidates are counted.
const CorpusArticles = 1000
