package figures

// Side is one of the two articles of a pair that is shown.
type Side struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Source string  `json:"source"`
	Text   []Piece `json:"text"`
}

// SamplePair is a pair drawn to be read.
type SamplePair struct {
	Limit   string `json:"limit"` // the strictest one at which the later article is held to repeat the earlier one
	Earlier Side   `json:"earlier"`
	Later   Side   `json:"later"`
}

// ThresholdResult is what a user needs to choose a limit.
type ThresholdResult struct {
	LimitsResult
	Current string       `json:"current"` // the limit as it is set
	Seed    uint64       `json:"seed"`
	Samples []SamplePair `json:"samples"`
}
