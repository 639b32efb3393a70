package files

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"echosieve/pipeline/decode"
	"echosieve/test/host"
)

func packed(t testing.TB, text string, pack func(w io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := pack(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func brotliPacked(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }
func zlibPacked(w io.Writer) io.WriteCloser   { return zlib.NewWriter(w) }
func flatePacked(w io.Writer) io.WriteCloser  { f, _ := flate.NewWriter(w, 6); return f }

func chunked(parts ...string) string {
	var b strings.Builder
	for _, p := range append(parts, "") {
		fmt.Fprintf(&b, "%X\r\n%s\r\n", len(p), p)
	}
	return b.String()
}

// Pages are read as browsers and warcio read them, and nothing else is taken for a page.
func TestPagesOfResponses(t *testing.T) {
	html := "<!doctype html><html><head><title>Skarvik 港</title></head><body>" +
		strings.Repeat("<p>The ferry of Skarvik stays in port.</p>", 20) + "</body></html>"
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(html)
	require.NoError(t, err)
	long := strings.Repeat("<!-- a long comment of a template -->\n", 40)
	late, err := simplifiedchinese.GBK.NewEncoder().String("<html><head>" + long +
		`<meta http-equiv="Content-Type" content="text/html; charset=gb2312"><title>港口</title>`)
	require.NoError(t, err)
	const council = "<html><body><p>町議会は火曜日、北の埠頭を修理することを決めた。" +
		"埠頭は昨年の冬から閉鎖されている。</p>"
	euc, err := japanese.EUCJP.NewEncoder().String(council)
	require.NoError(t, err)
	const ok = "HTTP/1.1 200 OK\r\n"
	const utf8 = "Content-Type: text/html; charset=utf-8\r\n"
	coded := func(coding, body string) string { return ok + utf8 + "Content-Encoding: " + coding + "\r\n\r\n" + body }
	transferred := func(coding, body string) string {
		return ok + utf8 + "Transfer-Encoding: " + coding + "\r\n\r\n" + body
	}
	typed := func(kind, body string) string { return ok + "Content-Type: " + kind + "\r\n\r\n" + body }
	gzipped := host.Gzip(t, html)
	for name, c := range map[string]struct{ response, want string }{
		"plain":             {ok + utf8 + "\r\n" + html, html},
		"HTTP/2":            {"HTTP/2 200 \r\n" + utf8 + "\r\n" + html, html},
		"lower case":        {"http/1.1 200 ok\r\n" + utf8 + "\r\n" + html, html},
		"two spaces":        {"HTTP/1.0  200  Fine\r\n" + utf8 + "\r\n" + html, html},
		"line feeds":        {"HTTP/1.1 200 OK\n" + "Content-Type: text/html\n\n" + html, html},
		"no type":           {ok + "\r\n" + html, html},
		"no type, fragment": {ok + "Content-Length: 1\r\n\r\n\ufeff  <div class=a>" + html, "  <div class=a>" + html},
		"two types":         {typed("text/html, text/html", html), html},
		"XHTML": {ok + "Content-Type: application/xhtml+xml\r\n\r\n<?xml version=\"1.0\"?>" +
			html, `<?xml version="1.0"?>` + html},
		"line without a colon":      {ok + "Set-Cookie session\r\n" + utf8 + "garbage\r\n\r\n" + html, html},
		"bad name of a header":      {ok + "Set Cookie(): x\r\n\xff\xfe: y\r\n" + utf8 + "\r\n" + html, html},
		"continued header":          {ok + "Content-Type: text/html;\r\n charset=gbk\r\n\r\n" + gbk, html},
		"body too short":            {ok + utf8 + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(html)+1) + html, html},
		"length of the packed body": {ok + utf8 + "Content-Encoding: gzip\r\nContent-Length: 60\r\n\r\n" + html, html},
		"length no number":          {ok + utf8 + "Content-Length: many\r\n\r\n" + html, html},
		"chunked":                   {transferred("chunked", chunked(html[:100], html[100:])), html},
		"chunked, extensions":       {transferred("Chunked", fmt.Sprintf("%x ;a=b\n%s\n0\n\n", len(html), html)), html},
		"chunked twice in a line":   {transferred("chunked, chunked", chunked(html)), html},
		"chunked, undone":           {transferred("chunked", html), html},
		"chunked, cut off":          {transferred("chunked", "FFFF\r\n"+html), html},
		"chunked gzip": {ok + utf8 + "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" +
			chunked(gzipped), html},
		"transfer gzip":        {transferred("gzip, chunked", chunked(gzipped)), html},
		"gzip":                 {coded("gzip", gzipped), html},
		"gzip, undone":         {coded("gzip", html), html},
		"gzip twice":           {coded("gzip, gzip", host.Gzip(t, gzipped)), html},
		"br":                   {coded("br", packed(t, html, brotliPacked)), html},
		"br, undone":           {coded("br", html), html},
		"br, but gzip":         {coded("br", gzipped), html},
		"deflate":              {coded("deflate", packed(t, html, zlibPacked)), html},
		"deflate, raw":         {coded("deflate", packed(t, html, flatePacked)), html},
		"zstd":                 {coded("zstd", host.Zstd(t, html)), html},
		"gzip, one byte short": {coded("gzip", gzipped[:len(gzipped)-1]), html},
		"GBK in the header":    {typed("text/html;charset=GBK", gbk), html},
		"wrong UTF-8, GBK in meta": {ok + utf8 + "\r\n" + strings.Replace(gbk, "<head>", "<head><meta charset=gbk>",
			1), strings.Replace(html, "<head>", "<head><meta charset=gbk>", 1)},
		"meta behind 1,024 bytes": {typed("text/html", late), "<html><head>" + long +
			`<meta http-equiv="Content-Type" content="text/html; charset=gb2312"><title>港口</title>`},
		"no charset, EUC-JP": {typed("text/html", euc),
			"! bytes that are no text in the encoding that is named"},
		"UTF-16": {typed("text/html", "\xff\xfe<\x00p\x00>\x00x\x00"), "<p>x"},
		"latin1": {typed("text/html; charset=iso-8859-1", "<p>F\xe4hre</p>"), "<p>Fähre</p>"},

		"PNG": {typed("text/html", "\x89PNG\r\n\x1a\n\x00\x00"), "! bytes of image/png"},
		"PDF": {ok + utf8 + "\r\n%PDF-1.7 x", "! bytes of application/pdf"},
		"random": {ok + utf8 + "\r\n" + packed(t, html, brotliPacked),
			"! bytes that are no text in the encoding that is named"},
		"no type, no HTML": {ok + "\r\n{\"a\": 1}", "! no Content-Type, and no HTML at its beginning"},
		"damaged gzip":     {coded("gzip", "\x1f\x8b\x08\x00\x00\xff\xff\xff"), "! damaged Content-Encoding gzip"},
		"unknown coding": {coded("compress", "\x1f\x9d\x90\x3c\x00\x01\x88\x02\x03"),
			"! damaged Content-Encoding compress"},
		"many codings":          {coded(strings.Repeat("gzip,", 5), gzipped), "! more than 4 codings"},
		"bomb":                  {coded("gzip", host.Gzip(t, strings.Repeat("<p>x", 1<<20))), "! too long"},
		"empty":                 {ok + utf8 + "\r\n", "! an empty body"},
		"not found":             {"HTTP/2 404\r\n" + utf8 + "\r\n" + html, "! status 404"},
		"image":                 {typed("IMAGE/png", "x"), "! of type image/png"},
		"JSON":                  {typed("application/json", "{}"), "! of type application/json"},
		"no HTTP":               {"SSH-2.0-OpenSSH\r\n", "! no HTTP response"},
		"header without an end": {ok + strings.Repeat("A: b\r\n", 1<<17), "! damaged HTTP header"},
	} {
		t.Run(name, func(t *testing.T) {
			archive := warcRecord("response", "http://a/\xe4\xf6?x=<>&y", "application/http", c.response) +
				warcRecord("response", "http://b/", "application/http; msgtype=response", ok+"\r\n<p>next")
			r := &Reader{Names: []string{"-"}, Stdin: strings.NewReader(archive), Limit: 100_000, Input: decode.DefaultConfig()}
			var got []Article
			var skipped []error
			for a, err := range r.Articles(t.Context()) {
				a.Value = bytes.Clone(a.Value)
				got, skipped = append(got, a), append(skipped, err)
			}
			require.Len(t, got, 2)
			require.Equal(t, []int{1, 2}, []int{got[0].Place, got[1].Place})
			if cause, refused := strings.CutPrefix(c.want, "! "); refused {
				skip := (*SkipError)(nil)
				require.ErrorAs(t, skipped[0], &skip)
				require.Equal(t, cause, skip.Cause)
				require.Contains(t, skip.Error(), "http://a/%E4%F6?x=<>&y: ")
			} else {
				require.NoError(t, skipped[0])
				want, err := decode.AppendJSON(nil, pageObject{"http://a/%E4%F6?x=<>&y", "http://a/%E4%F6?x=<>&y", c.want})
				require.NoError(t, err)
				require.Equal(t, string(want), string(got[0].Value))
			}
			require.NoError(t, skipped[1])
			require.Contains(t, string(got[1].Value), "<p>next")
		})
	}
}

// A damaged record ends neither the archive nor the reading of the next record.
func TestDamagedRecords(t *testing.T) {
	whole := warcRecord("response", "http://a/", "application/http", response("text/html", "<p>x"))
	want := `{"id":"http://a/","url":"http://a/","text":"<p>x"}`
	for name, damaged := range map[string]string{
		"no length":        "WARC/1.0\r\nWARC-Type: response\r\n\r\nx\r\n\r\n",
		"negative length":  "WARC/1.0\r\nContent-Length: -1\r\n\r\nx\r\n\r\n",
		"length too small": "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 1\r\n\r\nxxx\nyyy\r\n\r\n",
		"header too long": "WARC/1.0\r\nA: " + strings.Repeat("x", maxHeaderBytes) +
			"\r\nContent-Length: 1\r\n\r\nx\r\n\r\n",
		"many header lines": "WARC/1.0\r\n" + strings.Repeat("A: xxxxxxx\r\n", maxHeaderBytes/10) +
			"Content-Length: 1\r\n\r\nx\r\n\r\n",
	} {
		got := readFile(strings.NewReader(whole+damaged+whole), 1000)
		require.NoError(t, got.err, name)
		require.Equal(t, []string{want, "damaged WARC record", want}, got.articles, name)
	}
	resource := warcRecord("resource", "http://a/", "text/HTML; charset=utf-8", "<p>x") +
		warcRecord("Resource", "x:log", "text/plain", "<p>x") + warcRecord("response", "dns:a", "text/dns", "x")
	got := readFile(strings.NewReader(resource), 1000)
	require.NoError(t, got.err)
	require.Equal(t, []string{want, "of type text/plain", "of the protocol dns"}, got.articles)
}
