// Package pipeline turns records into verdicts: decode, fingerprint (package recipe), claim, and the output
// headers. It owns the meaning of a verdict and the seam to the index (Index), and knows neither Kafka nor Redis.
//
// Two classes of failure: a record that cannot be processed becomes a dead letter with a Reason and the
// stream goes on; anything else (the index is gone, the context ended) is returned and nothing is published.
// Whatever can fail for good is found before the index hears of an article, so that an article which is in
// the index always reaches an output.
package pipeline
