package files

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"echosieve/pipeline/decode"
)

const (
	// maxCodings bounds the codings of one body: each costs a decompressor, and a header could name thousands.
	maxCodings = 4
	// maxHTTPWindow is the largest window of zstd in HTTP (RFC 9659), in bytes.
	maxHTTPWindow = 8 << 20
)

// noPage returns why a record of a web archive is no page, if nothing is lost with it.
func noPage(cause string) *SkipError { return &SkipError{Cause: cause, Kind: NoPage} }

// unread returns why the page of a record of a web archive could not be read.
func unread(cause, detail string) *SkipError {
	return &SkipError{Cause: cause, Detail: detail, Kind: Unread}
}

// readResponse returns the body of a stored HTTP response as the server meant it, and its Content-Type. most
// bounds the body, in bytes. It is as tolerant as browsers and warcio: headers often tell how the body came
// over the network, while the archive has it decoded. So a length counts for nothing, and a coding is undone
// only where it is found.
func readResponse(in *bufio.Reader, most int) (body []byte, contentType string, err error) {
	status, err := readLine(in, maxHeaderBytes)
	if err != nil {
		return nil, "", unread("no HTTP response", "the status line: "+err.Error())
	}
	code, ok := statusCode(status)
	if !ok {
		return nil, "", unread("no HTTP response", "")
	}
	header, err := readHeader(in, maxHeaderBytes)
	if err != nil {
		return nil, "", unread("damaged HTTP header", "the HTTP header: "+err.Error())
	}
	switch {
	case code >= 300 && code < 400:
		return nil, "", noPage(fmt.Sprintf("status %d", code))
	case code != http.StatusOK && code != http.StatusNonAuthoritativeInfo:
		return nil, "", unread(fmt.Sprintf("status %d", code), "")
	}
	contentType = header.get("Content-Type")
	if other := mayBePage(contentType); other != nil {
		return nil, "", other
	}
	body, err = readAtMost(in, most)
	if err != nil {
		return nil, "", err
	}
	body, err = undoCodings(body, header, most)
	return body, contentType, err
}

// statusCode returns the code of a status line, such as "HTTP/1.1 200 OK", "http/1.1 200" and "HTTP/2 200".
func statusCode(line string) (int, bool) {
	version, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if len(version) < len("HTTP") || !strings.EqualFold(version[:len("HTTP")], "HTTP") {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	code, err := strconv.Atoi(digits)
	return code, err == nil && code >= 100 && code < 1000
}

// assets are the types of what pages load: no article is lost with it.
var assets = []string{"image/", "video/", "audio/", "font/", "text/css", "text/javascript", "application/javascript",
	"application/x-javascript", "application/font"}

// mayBePage returns an error if a body of a type is no page. Without a type, the body's first bytes decide.
func mayBePage(contentType string) *SkipError {
	kind := strings.ToLower(strings.TrimSpace(contentType))
	kind, _, _ = strings.Cut(kind, ";")
	kind, _, _ = strings.Cut(kind, ",") // of several types, as some servers send them, the first counts
	kind = strings.TrimSpace(kind)
	if kind == "" || strings.Contains(kind, "html") {
		return nil
	}
	cause := "of type " + kind[:min(len(kind), 40)]
	for _, asset := range assets {
		if strings.HasPrefix(kind, asset) {
			return noPage(cause)
		}
	}
	return unread(cause, "")
}

// htmlTag finds HTML in bytes without a Content-Type.
var htmlTag = regexp.MustCompile(`(?i)<(!doctype html|html|head|title|meta|body|article|main|section|div|h1|p)[\s>]`)

// sniffed returns an error if the first bytes of a body show that it is no page: then its type is missing or wrong.
func sniffed(body []byte, contentType string) error {
	start := bytes.TrimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
	kind, _, _ := strings.Cut(http.DetectContentType(start), ";")
	switch {
	case len(start) == 0:
		return unread("an empty body", "")
	case !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream":
		return unread("bytes of "+kind, "")
	case contentType == "" && !htmlTag.Match(start[:min(len(start), 1024)]):
		return unread("no Content-Type, and no HTML at its beginning", "")
	}
	return nil
}

// readAtMost reads a body of at most so many bytes.
func readAtMost(in io.Reader, most int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if len(body) > most {
		return nil, tooLongPage(most)
	}
	return body, err
}

func tooLongPage(most int) *SkipError {
	return &SkipError{Cause: "too long", Detail: fmt.Sprintf("a page of more than %d bytes", most)}
}

// undoCodings undoes first the transfer codings, then the content codings, each in the reverse order of its naming.
func undoCodings(body []byte, header header, most int) ([]byte, error) {
	transfer, content := header.list("Transfer-Encoding"), header.list("Content-Encoding")
	if len(transfer)+len(content) > maxCodings {
		return nil, unread("more than 4 codings", "")
	}
	for i := len(transfer) - 1; i >= 0; i-- {
		if transfer[i] == "chunked" {
			body = dechunk(body)
			continue
		}
		content = append(content, transfer[i])
	}
	for i := len(content) - 1; i >= 0; i-- {
		var err error
		if body, err = decompress(body, content[i], most); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// dechunk returns the body of a chunked transfer. A body that is none has been decoded already and stays as
// it is. Of a body that is cut off or damaged, the chunks before the damage are returned.
func dechunk(body []byte) []byte {
	var whole []byte
	for rest := body; ; {
		size, data, ok := chunk(rest)
		if !ok && whole == nil {
			return body
		}
		if !ok || size == 0 {
			return whole
		}
		whole = append(whole, data[:min(size, len(data))]...)
		if size >= len(data) {
			return whole
		}
		rest = bytes.TrimPrefix(bytes.TrimPrefix(data[size:], []byte("\r")), []byte("\n"))
	}
}

// chunk reads the size of a chunk. data begins with the chunk. The size is followed by a line end; a chunk
// that is there in whole is, too.
func chunk(body []byte) (size int, data []byte, ok bool) {
	line, _, ok := bytes.Cut(body[:min(len(body), 256)], []byte("\n"))
	if !ok {
		return 0, nil, false
	}
	data = body[len(line)+1:]
	digits, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
	if err != nil {
		return 0, nil, false
	}
	size = int(n)
	if size < len(data) && data[size] != '\r' && data[size] != '\n' {
		return 0, nil, false
	}
	return size, data, true
}

// decompress undoes one coding. Bytes that show another coding are decoded by that, and text is not
// compressed, whatever the header says. Of a body that is cut off or damaged, the part before the damage is
// returned, as browsers show it.
func decompress(body []byte, coding string, most int) ([]byte, error) {
	in, err := decompressor(body, coding)
	if in == nil && err == nil {
		return body, nil
	}
	var page []byte
	if err == nil {
		page, err = io.ReadAll(io.LimitReader(in, int64(most)+1))
	}
	switch {
	case len(page) > most:
		return nil, tooLongPage(most)
	case len(page) == 0 && err != nil:
		return nil, unread("damaged Content-Encoding "+coding, fmt.Sprintf("Content-Encoding %s: %v", coding, err))
	}
	return page, nil
}

// decompressor returns what undoes a coding of a body; nil if nothing is to undo.
func decompressor(body []byte, coding string) (io.Reader, error) {
	switch decode.CompressionOf(body) {
	case decode.CompressionGzip:
		return gzip.NewReader(bytes.NewReader(body))
	case decode.CompressionZstd:
		d, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxHTTPWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	if start := body[:min(len(body), 1024)]; isText(strangeIn(start), len(start)) {
		return nil, nil
	}
	switch coding {
	case "br":
		return brotli.NewReader(bytes.NewReader(body)), nil
	case "deflate": // with the header of zlib, as the standard says, or without, as servers do
		if z, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return z, nil
		}
		return flate.NewReader(bytes.NewReader(body)), nil
	case "identity", "none", "":
		return nil, nil
	}
	return nil, fmt.Errorf("it is not one of gzip, deflate, br and zstd, or the body is in none")
}
