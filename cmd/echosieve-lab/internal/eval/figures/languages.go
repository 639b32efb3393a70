package figures

// LanguageResult holds the figures of one language.
type LanguageResult struct {
	Language string `json:"language"`
	Articles int    `json:"articles"` // of the file
	PairsResult
}

// LanguagesResult is the result of eval languages.
type LanguagesResult struct {
	Part      string           `json:"part"`
	Languages []LanguageResult `json:"languages"`
	All       PairsResult      `json:"all"`
}
