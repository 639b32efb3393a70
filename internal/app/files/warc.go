package files

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// warcReader reads the pages of a web archive (ISO 28500). Of its records it returns responses that hold a page, and texts that were made of
// pages.
type warcReader struct {
	in    *bufio.Reader
	limit int
	at    *time.Time
}

// page is the article of a WARC record.
type page struct {
	ID   string `json:"id"`
	URL  string `json:"url"`
	Text string `json:"text"`
}

func (w *warcReader) next() ([]byte, error) {
	for {
		header, length, err := w.header()
		if err != nil {
			return nil, err
		}
		block := &io.LimitedReader{R: w.in, N: length}
		text, err := w.text(header, block)
		if _, skip := io.Copy(io.Discard, block); skip != nil {
			return nil, skip
		}
		if block.N > 0 {
			return nil, fmt.Errorf("a WARC record is cut off: %w", io.ErrUnexpectedEOF)
		}
		if err != nil || text == "" {
			continue // no page
		}
		*w.at, _ = time.Parse(time.RFC3339, header.Get("WARC-Date"))
		uri := strings.Trim(header.Get("WARC-Target-URI"), "<>")
		return json.Marshal(page{uri, uri, text})
	}
}

// header reads the header of the next record and the length of its block.
func (w *warcReader) header() (textproto.MIMEHeader, int64, error) {
	in := textproto.NewReader(w.in)
	line := ""
	for line == "" {
		var err error
		if line, err = in.ReadLine(); err != nil {
			return nil, 0, err
		}
	}
	if !strings.HasPrefix(line, "WARC/") {
		return nil, 0, errors.New("no WARC record begins here")
	}
	header, err := in.ReadMIMEHeader()
	if err != nil {
		return nil, 0, fmt.Errorf("header of a WARC record: %w", err)
	}
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return nil, 0, errors.New("a WARC record does not say its length")
	}
	return header, length, nil
}

// text returns the page of a record in UTF-8; empty if the record holds none. A page longer than the limit is cut a little behind it.
func (w *warcReader) text(header textproto.MIMEHeader, block io.Reader) (string, error) {
	kind := header.Get("Content-Type")
	switch header.Get("WARC-Type") {
	case "conversion":
	case "response":
		response, err := http.ReadResponse(bufio.NewReader(block), nil)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		kind = response.Header.Get("Content-Type")
		if response.StatusCode != http.StatusOK || !strings.Contains(kind, "html") {
			return "", nil
		}
		block = response.Body
	default:
		return "", nil
	}
	utf8, err := charset.NewReader(block, kind)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(utf8, int64(w.limit)+1))
	return string(text), err
}
