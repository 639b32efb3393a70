// Package pipeline turns records into outputs: it decodes a record's value (decode.go), makes an article of the text (package recipe), asks
// the index for the verdict (Index), and writes the verdict into headers of the output (output.go). It knows neither Kafka nor Redis.
//
// There are two classes of failure. A record that can never be processed becomes a dead letter with a RejectReason, and the stream goes on.
// Any other failure (the index is away, the context has ended) is returned, and nothing is published. All permanent failures are found
// before the batch is claimed: every article in the index must also reach an output, because later copies name it as their original.
package pipeline
