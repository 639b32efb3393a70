package pipeline

import (
	"slices"
	"strconv"

	"echosieve/pipeline/article"
)

// Destination is one of the output topics.
type Destination uint8

// The output topics.
const (
	ToUnique Destination = iota
	ToPossible
	ToDuplicate
	ToDead
	Destinations // how many there are
)

// String returns the destination as it stands in configuration and metrics: "unique", "possible", "duplicate"
// or "dead".
func (d Destination) String() string {
	return [Destinations]string{"unique", "possible", "duplicate", "dead"}[d]
}

// Output is one record to publish: the source record's key, value and timestamp with new headers.
type Output struct {
	Record      *Record
	Destination Destination
	// Headers are all headers of the published record: the record's own, then ours.
	Headers []Header
	// OmitValue says that not even the dead topic can hold the value: a null value goes out instead,
	// and the source coordinates in the headers tell where to find it.
	OmitValue bool
	// OmitKey says the same of the key.
	OmitKey bool

	verdict, reason string // labels for the metrics
	distance        int    // bits; -1 if there is no original
}

// Names of the headers that we add, documented in docs/output.md.
const (
	HeaderVerdict      = "echosieve-verdict"
	HeaderFingerprint  = "echosieve-fingerprint"
	HeaderDistance     = "echosieve-distance"
	HeaderOriginalID   = "echosieve-original-id"
	HeaderOriginal     = "echosieve-original"
	HeaderRootID       = "echosieve-root-id"
	HeaderRoot         = "echosieve-root"
	HeaderSource       = "echosieve-source"
	HeaderRecipe       = "echosieve-recipe"
	HeaderReason       = "echosieve-reason"
	HeaderDetail       = "echosieve-detail"
	HeaderValueOmitted = "echosieve-value-omitted"
)

var ownHeaders = []string{
	HeaderVerdict, HeaderFingerprint, HeaderDistance, HeaderOriginalID, HeaderOriginal, HeaderRootID,
	HeaderRoot, HeaderSource, HeaderRecipe, HeaderReason, HeaderDetail, HeaderValueOmitted,
}

// Upper bounds of what our headers and the record framing add to a record, in bytes: topic names have at most 249.
const (
	maxCoordinatesBytes   = 249 + len("/2147483647/9223372036854775807")
	maxVerdictHeaderBytes = 3*maxCoordinatesBytes + 2*article.MaxIDBytes + 512
	maxDetailBytes        = 256
	maxDeadHeaderBytes    = maxCoordinatesBytes + maxDetailBytes + 512
)

// withHeaders returns the record's headers without those of our names, followed by ours.
func withHeaders(r *Record, ours ...Header) []Header {
	headers := make([]Header, 0, len(r.Headers)+len(ours))
	for _, h := range r.Headers {
		if !slices.Contains(ownHeaders, h.Key) {
			headers = append(headers, h)
		}
	}
	return append(headers, ours...)
}

func header(key, value string) Header { return Header{Key: key, Value: []byte(value)} }

// verdictOutput builds the output of an article that the index has answered.
func verdictOutput(r *Record, a *article.Article, m *article.Verdict, recipeID string) Output {
	out := Output{Record: r, Destination: ToUnique, verdict: m.Kind.String(), reason: m.Reason.String(), distance: -1}
	ours := make([]Header, 0, 10)
	ours = append(ours, header(HeaderVerdict, m.Kind.String()))
	if !a.LittleText {
		ours = append(ours, header(HeaderFingerprint, a.Fingerprint.String()))
	}
	if m.Kind != article.Unique {
		out.Destination, out.distance = ToDuplicate, m.Distance
		if m.Kind == article.Possible {
			out.Destination = ToPossible
		}
		ours = append(ours,
			header(HeaderReason, m.Reason.String()),
			header(HeaderDistance, strconv.Itoa(m.Distance)),
			header(HeaderOriginalID, m.Original.ID),
			header(HeaderOriginal, m.Original.String()))
	}
	ours = append(ours,
		header(HeaderRootID, m.Root.ID),
		header(HeaderRoot, m.Root.String()),
		header(HeaderSource, r.String()),
		header(HeaderRecipe, recipeID))
	out.Headers = withHeaders(r, ours...)
	return out
}

// tombstoneOutput passes a null value on to the unique topic. It has no text, hence no verdict but unique.
func tombstoneOutput(r *Record, recipeID string) Output {
	return Output{
		Record: r, Destination: ToUnique, verdict: article.Unique.String(), reason: "tombstone", distance: -1,
		Headers: withHeaders(r,
			header(HeaderVerdict, article.Unique.String()),
			header(HeaderSource, r.String()),
			header(HeaderRecipe, recipeID)),
	}
}

// deadOutput builds a dead letter. Where the dead topic cannot hold the whole record either, the value goes
// first, then key and headers; what is left always fits.
func deadOutput(r *Record, reject *RejectError, maxBytes int) Output {
	detail := reject.Detail
	if len(detail) > maxDetailBytes {
		detail = detail[:maxDetailBytes]
	}
	ours := []Header{
		header(HeaderReason, string(reject.Reason)),
		header(HeaderDetail, detail),
		header(HeaderSource, r.String()),
	}
	out := Output{Record: r, Destination: ToDead, verdict: "dead", reason: string(reject.Reason), distance: -1}
	size := recordBytes(r) + maxDeadHeaderBytes
	kept := r
	if size > maxBytes {
		out.OmitValue = true
		ours = append(ours, header(HeaderValueOmitted, strconv.Itoa(r.valueBytes())))
		if size-r.valueBytes() > maxBytes {
			out.OmitKey = true
			kept = &Record{}
		}
	}
	out.Headers = withHeaders(kept, ours...)
	return out
}

// recordBytes is an upper bound of the record's size on the wire, without our headers: payload and framing.
func recordBytes(r *Record) int {
	const framing = 128 // batch header 61, record varints
	n := r.Size()
	if r.Oversize != nil {
		n = int(r.Oversize.Bytes)
	}
	return n + framing + 10*len(r.Headers)
}
