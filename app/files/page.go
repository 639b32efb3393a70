package files

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"echosieve/pipeline/decode"
)

const (
	// maxCodings bounds the codings of one body: each costs a decompressor, and a header could name thousands.
	maxCodings = 4
	// maxHTTPWindow is the largest window of zstd in HTTP (RFC 9659), in bytes.
	maxHTTPWindow = 8 << 20
)

// noPage returns why a record of a web archive is no page.
func noPage(cause string) error { return &SkipError{Cause: cause, NoPage: true} }

// readResponse returns the body of a stored HTTP response as the server meant it, and its Content-Type. most
// bounds the body, in bytes. It is as tolerant as browsers and warcio: headers often tell how the body came
// over the network, while the archive has it decoded. So a length counts for nothing, and a coding is undone
// only where it is found.
func readResponse(in *bufio.Reader, most int) (body []byte, contentType string, err error) {
	status, header, err := readHead(in)
	// such as "HTTP/1.1 200 OK", "http/1.1 200" and "HTTP/2 200"
	words := append(strings.Fields(status), "", "")
	code, bad := strconv.Atoi(words[1])
	switch {
	case !strings.HasPrefix(strings.ToUpper(words[0]), "HTTP"), bad != nil, code < 100, code > 999:
		return nil, "", &SkipError{Cause: "no HTTP response"}
	case err != nil:
		return nil, "", &SkipError{Cause: "damaged HTTP header", Detail: "the HTTP header: " + err.Error()}
	case code != http.StatusOK && code != http.StatusNonAuthoritativeInfo:
		return nil, "", noPage(fmt.Sprintf("status %d", code))
	}
	contentType = header.Get("Content-Type")
	if err := mayBePage(contentType); err != nil {
		return nil, "", err
	}
	if body, err = readAtMost(in, most); err != nil {
		return nil, "", err
	}
	body, err = undoCodings(body, header, most)
	return body, contentType, err
}

// maxHeaderBytes bounds the header of a record of a web archive and that of an HTTP response, in bytes.
// Browsers allow as much.
const maxHeaderBytes = 256 << 10

var (
	errHeaderTooLong = fmt.Errorf("it has more than %d KiB", maxHeaderBytes>>10)
	// folded is the end of a header line that the next one continues.
	folded = regexp.MustCompile(`\r?\n[ \t]+`)
)

// readHead reads a first line, and lines of names and values up to an empty line, or to the end. A line without a
// colon is left out, as browsers do.
func readHead(in *bufio.Reader) (first string, h http.Header, err error) {
	var head []byte
	for more := true; more; {
		begin := len(head)
		for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull) && len(head) <= maxHeaderBytes; {
			var part []byte
			part, err = in.ReadSlice('\n')
			head = append(head, part...)
		}
		more = err == nil && len(bytes.TrimRight(head[begin:], "\r\n")) > 0 && len(head) <= maxHeaderBytes
	}
	lines := strings.Split(string(folded.ReplaceAllLiteral(head, []byte(" "))), "\n")
	if len(head) > maxHeaderBytes {
		return lines[0], nil, errHeaderTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", nil, err
	}
	h = http.Header{}
	for _, line := range lines[1:] {
		if name, value, found := strings.Cut(line, ":"); found {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return lines[0], h, nil
}

// mayBePage returns an error if a body of a type is no page. Without a type, the body's first bytes decide. Of several
// types, as some servers send them, the first counts.
func mayBePage(contentType string) error {
	kind, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(contentType), ",", ";"), ";")
	if kind = strings.TrimSpace(kind); kind == "" || strings.Contains(kind, "html") {
		return nil
	}
	return noPage("of type " + kind[:min(len(kind), 40)])
}

// htmlTag finds HTML in bytes without a Content-Type.
var htmlTag = regexp.MustCompile(`(?i)<(!doctype html|html|head|title|meta|body|article|main|section|div|h1|p)[\s>]`)

// sniffed returns an error if the first bytes of a body show that it is no page: then its type is missing or wrong.
func sniffed(body []byte, contentType string) error {
	start := bytes.TrimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
	kind, _, _ := strings.Cut(http.DetectContentType(start), ";")
	switch {
	case len(start) == 0:
		return noPage("an empty body")
	case !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream":
		return noPage("bytes of " + kind)
	case contentType == "" && !htmlTag.Match(start[:min(len(start), 1024)]):
		return noPage("no Content-Type, and no HTML at its beginning")
	}
	return nil
}

// readAtMost reads a body of at most so many bytes.
func readAtMost(in io.Reader, most int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if len(body) > most {
		return nil, &SkipError{Cause: causeTooLong, Detail: fmt.Sprintf("a page of more than %d bytes", most)}
	}
	return body, err
}

// undoCodings undoes first the transfer codings, then the content codings, each in the reverse order of its naming.
func undoCodings(body []byte, header http.Header, most int) (_ []byte, err error) {
	list := func(name string) []string {
		return strings.FieldsFunc(strings.ToLower(strings.Join(header.Values(name), ",")),
			func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	}
	codings := append(list("Content-Encoding"), list("Transfer-Encoding")...)
	if len(codings) > maxCodings {
		return nil, &SkipError{Cause: "more than 4 codings"}
	}
	for _, coding := range slices.Backward(codings) {
		if coding == "chunked" {
			body = dechunk(body)
		} else if body, err = decompress(body, coding, most); err != nil {
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
		line, data, ended := bytes.Cut(rest, []byte("\n"))
		digits, _, _ := bytes.Cut(line, []byte(";")) // before an extension
		n, err := strconv.ParseUint(string(bytes.TrimSpace(digits[:min(len(digits), 256)])), 16, 31)
		size := min(int(n), len(data))
		switch damaged := !ended || err != nil || size < len(data) && data[size] != '\r' && data[size] != '\n'; {
		case damaged && whole == nil:
			return body
		case damaged, n == 0:
			return whole
		}
		if whole = append(whole, data[:size]...); size == len(data) {
			return whole
		}
		rest = bytes.TrimPrefix(bytes.TrimPrefix(data[size:], []byte("\r")), []byte("\n"))
	}
}

// decompress undoes one coding. Bytes that show another coding are decoded by that, and text is not
// compressed, whatever the header says. Of a body that is cut off or damaged, the part before the damage is
// returned, as browsers show it.
func decompress(body []byte, coding string, most int) ([]byte, error) {
	var in io.Reader = bytes.NewReader(body)
	var err error
	start := body[:min(len(body), 1024)]
	switch found := decode.CompressionOf(body); {
	case found == decode.CompressionGzip:
		in, err = gzip.NewReader(in)
	case found == decode.CompressionZstd:
		in, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxHTTPWindow))
	case isText(strangeIn(start), len(start)), coding == "identity", coding == "none":
		return body, nil
	case coding == "br":
		in = brotli.NewReader(in)
	case coding == "deflate": // with the header of zlib, as the standard says, or without, as servers do
		if in, err = zlib.NewReader(in); err != nil {
			in, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	default:
		err = errors.New("it is not one of gzip, deflate, br and zstd, or the body is in none")
	}
	var page []byte
	if err == nil {
		page, err = readAtMost(in, most)
	}
	if skip := (*SkipError)(nil); errors.As(err, &skip) {
		return nil, skip
	} else if err != nil && len(page) == 0 {
		return nil, &SkipError{Cause: "damaged Content-Encoding " + coding,
			Detail: fmt.Sprintf("Content-Encoding %s: %v", coding, err)}
	}
	return page, nil
}

// metaBytes is how much of a page is searched for its encoding, in bytes. Browsers search the first 1,024
// bytes, and the rest of the head when they come to it.
const metaBytes = 256 << 10

// metaCharset finds the meta element of a page that names its encoding.
var metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]*charset`)

// toUTF8 returns a page as browsers read it: a byte order mark counts most, then contentType, then the page's own
// meta element, then UTF-8. An encoding in which all bytes are characters goes before one in which some are not.
// ok is false if it is no text in any of these.
func toUTF8(data []byte, contentType string) (text string, ok bool) {
	named := make([]encoding.Encoding, 0, 4)
	for _, kind := range []string{contentType, ""} {
		if e, name, certain := charset.DetermineEncoding(data, kind); certain || name != "windows-1252" {
			named = append(named, e) // else nothing names one, and windows-1252 is what the library falls back to
		}
	}
	named = append(named, encoding.Nop)
	if m := metaCharset.FindIndex(data[:min(len(data), metaBytes)]); m != nil {
		e, _, _ := charset.DetermineEncoding(data[m[0]:], "")
		named = append(named, e)
	}
	first := ""
	for _, e := range named {
		text, strange := inUTF8(e, data)
		if strange == 0 {
			return text, true
		}
		if first == "" && isText(strange, len(text)) {
			first = text
		}
	}
	return first, first != ""
}

// inUTF8 returns data in UTF-8, and the number of strange characters in it.
func inUTF8(e encoding.Encoding, data []byte) (text string, strange int) {
	decoded, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", len(data)
	}
	decoded = bytes.TrimPrefix(decoded, []byte(byteOrderMark))
	return string(decoded), strangeIn(decoded)
}

// strangeIn counts characters that no text has: control characters, and replacements of what could not be decoded.
func strangeIn(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError || unicode.Is(unicode.Cc, r) && r != '\n' && r != '\r' && r != '\t' && r != '\f' {
			n++
		}
		text = text[size:]
	}
	return n
}

// isText says whether strange characters are so few among the bytes of a text that it is damaged, and not
// something else.
func isText(strange, bytes int) bool { return strange <= 2 || strange*100 <= bytes }
