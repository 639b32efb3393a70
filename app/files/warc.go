package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/pipeline/decode"
)

// warcReader reads the pages of a web archive (ISO 28500). Of its records it returns responses and resources
// that hold a page, and texts that were made of pages. Every other response is an error that says why;
// records about the crawl are left out without a word.
//
// github.com/nlnwa/gowarc is no way out: it reads the header of an HTTP response to its end into memory, whatever its
// length, and parses it with net/http, which refuses headers that browsers and warcio read.
type warcReader struct {
	*source
	number int // of the record, counted from 1
}

// pageObject is the article of a WARC record.
type pageObject struct {
	ID   string `json:"id"`
	URL  string `json:"url"`
	Text string `json:"text"`
}

// next returns the next page as a JSON object, and the number of its record.
func (w *warcReader) next() (Article, error) {
	for {
		h, length, err := w.header()
		if err != nil {
			return Article{Place: w.number}, err
		}
		block := &io.LimitedReader{R: w.Reader, N: length}
		text, err := w.text(h, block)
		a := Article{Place: w.number}
		if _, skip := io.Copy(io.Discard, block); skip != nil {
			return a, skip
		}
		if block.N > 0 {
			return a, fmt.Errorf("a WARC record is cut off: %w", io.ErrUnexpectedEOF)
		}
		a.Idle = w.Buffered() == 0
		uri := uriOf(h)
		if skip := (*SkipError)(nil); errors.As(err, &skip) && uri != "" {
			skip.Detail = uri + ": " + skip.Error()
		}
		if err != nil {
			return a, err
		}
		if text == "" {
			continue
		}
		a.Time, _ = time.Parse(time.RFC3339, h.Get("WARC-Date"))
		a.Value, err = decode.AppendJSON(nil, pageObject{uri, uri, text})
		return a, err
	}
}

const warcBegin = "WARC/"

// header reads the header of the next record and the length of its block. After a fault it stands before the
// next record.
func (w *warcReader) header() (http.Header, int64, error) {
	for c := byte('\n'); c == '\r' || c == '\n' || c == 0; { // zeros fill the blocks of tapes
		var err error
		if c, err = w.ReadByte(); err != nil {
			return nil, 0, err
		}
	}
	w.number++
	_ = w.UnreadByte() // it was read right now
	if start, _ := w.Peek(len(warcBegin)); string(start) != warcBegin {
		return nil, 0, w.damaged("no record begins here: the Content-Length of the one before is wrong")
	}
	_, h, err := readHead(w.Reader)
	if errors.Is(err, errHeaderTooLong) {
		return nil, 0, w.damaged("the header of a record: " + err.Error())
	} else if err != nil {
		return nil, 0, err
	}
	length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return nil, 0, w.damaged("a record does not say its length")
	}
	return h, length, nil
}

// damaged returns the fault of a record whose end cannot be known, and moves to the next line in which a record begins.
func (w *warcReader) damaged(detail string) error {
	for atStart := true; ; {
		start, err := w.Peek(len(warcBegin))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(start) == 0 || atStart && string(start) == warcBegin {
			return &SkipError{Cause: "damaged WARC record", Detail: detail}
		}
		_, err = w.ReadSlice('\n')
		atStart = err == nil
	}
}

// uriOf returns the address of a record. Bytes that are no UTF-8 are written as browsers write them, so that
// different addresses stay different.
func uriOf(h http.Header) string {
	uri := strings.Trim(h.Get("WARC-Target-URI"), "<>")
	if utf8.ValidString(uri) {
		return uri
	}
	var b []byte
	for _, c := range []byte(uri) {
		if c < utf8.RuneSelf {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

// text returns the page of a record in UTF-8; empty if the record is about the crawl.
func (w *warcReader) text(h http.Header, block io.Reader) (string, error) {
	record, kind := strings.ToLower(h.Get("WARC-Type")), h.Get("Content-Type")
	most := 2*w.limit + 1 // UTF-16 has two bytes for a letter that has one in UTF-8
	var body []byte
	var err error
	switch record {
	case "conversion":
		kind = "text/plain; charset=utf-8" // the standard's
		body, err = readAtMost(block, most)
	case "response":
		if scheme, _, _ := strings.Cut(uriOf(h), ":"); kind != "" &&
			!strings.HasPrefix(strings.ToLower(kind), "application/http") {
			return "", noPage("of the protocol " + scheme[:min(len(scheme), 20)])
		}
		body, kind, err = readResponse(bufio.NewReader(block), most)
	case "resource":
		if err = mayBePage(kind); err == nil {
			body, err = readAtMost(block, most)
		}
	default:
		return "", nil
	}
	if err == nil && record != "conversion" {
		err = sniffed(body, kind)
	}
	if err != nil {
		return "", err
	}
	text, ok := toUTF8(body, kind)
	switch {
	case !ok:
		return "", &SkipError{Cause: "bytes that are no text in the encoding that is named"}
	case strings.TrimSpace(text) == "":
		return "", noPage("an empty body")
	}
	return text, nil
}
