package produce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/app/files"
)

// read returns the values of the records that produce would publish of a text, what it reports, and its error.
func read(t *testing.T, text string) (values []string, report string, err error) {
	t.Helper()
	var log strings.Builder
	lines := NewLines(config.Default(), files.NewProgress(&log, -1, "published", func() int64 { return 0 }))
	for r, err := range lines.Records(t.Context(), []string{"-"}, strings.NewReader(text)) {
		if err != nil {
			return values, log.String(), err
		}
		values = append(values, string(r.Value))
	}
	return values, log.String(), nil
}

// A file that begins like no file of articles is refused in one sentence, and nothing of it is published.
func TestOtherFilesAreRefused(t *testing.T) {
	prose := strings.Repeat("The ferry of Skarvik stays in port until the storm is over. ", 3)
	item := `{"headline":"x","content_html":"` + prose + `"}`
	for name, c := range map[string]struct{ text, want string }{
		"PNG": {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\n\x00\x00\n", "image/png); expected are articles: JSON Lines"},
		"log": {strings.Repeat("2026-11-25 INFO started\n", 44_000) + `{"text":"x"}`,
			`stdin:1: the first line is no JSON, and no header with commas, tabs or semicolons between names: "2026-11-25 INFO`},
		"binary lines": {strings.Repeat("\xe9x\xfe\xc3\x28 \xa0\n", 70_000), "not in UTF-8"},
		"hits": {strings.Repeat(`{"_index":"a","_source":{"title":"t","body_text":"`+prose+`","url":"u"}}`+
			"\n", 100), "it has _index, _source.title, _source.body_text, _source.url: --input.fields.text _source.body_text"},
		"search": {`{"took":1,"hits":{"total":{"value":1},"hits":[{"_source":{"article":"` + prose + `"}}]}}`,
			"it has took, hits.total.value, hits.hits[]._source.article: --input.fields.text _source.article; " +
				"of articles in a list: type jq -c '.hits.hits[]' FILE and pipe it into this command"},
		"too long a line": {`{"status":"ok","articles":[{"content":"` + strings.Repeat(prose, 20_000) + `"}]}`,
			"at most 1048448 can be published; it has status, articles[]: --input.fields.text NAME"},
		"JSON Feed": {"{\n\"version\": \"https://jsonfeed.org/version/1.1\", \"items\": [\n" + item + "]}",
			"it has version, items[].headline, items[].content_html: --input.fields.text content_html; "},
		"damaged pages": {strings.Repeat("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
			2), "(stdin:1: no HTTP response)"},
	} {
		values, report, err := read(t, c.text)
		require.ErrorContains(t, err, c.want, name)
		require.Empty(t, values, name)
		require.Empty(t, report, name)
	}
}

// Records without a text before the first article are published with it: their dead letters are for whoever made
// them. A file without any text is refused, and the message names what it has.
func TestRecordsWithoutText(t *testing.T) {
	values, _, err := read(t, strings.Repeat(`{"title":"x"}`+"\n", 99))
	require.ErrorContains(t, err, "it has title: --input.fields.text NAME")
	require.Empty(t, values)
	values, _, err = read(t, strings.Repeat(`{"title":"x"}`+"\n", 99)+`{"text":""}`)
	require.NoError(t, err)
	require.Len(t, values, 100)
}

// Of many bad lines ten are reported, and the rest is counted by cause. Articles without a text follow the
// first article.
func TestReports(t *testing.T) {
	values, report, err := read(t, "bad\n{\"title\":\"x\"}\n{\"text\":\"1\"}\n"+strings.Repeat("{\n", 99)+
		`{"text":"2"}`)
	require.NoError(t, err)
	require.Equal(t, []string{`{"title":"x"}`, `{"text":"1"}`, `{"text":"2"}`}, values)
	lines := strings.Split(strings.TrimSpace(report), "\n")
	require.Contains(t, lines[0], "stdin:1: the value is not a JSON object: ")
	require.Contains(t, lines[9], "stdin:12: ")
	require.Equal(t, []string{"further bad lines are only counted",
		"100 bad lines: 100 no JSON object (first stdin:1)"}, lines[10:])
}

// Records of a web archive that are no articles are counted by cause.
func TestReportsOfAWebArchive(t *testing.T) {
	record := func(block string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/1\r\nContent-Length: "+
			"%d\r\n\r\n%s\r\n\r\n", len(block), block)
	}
	page, missing, image := record("HTTP/2 200\r\n\r\n<p>x"), record("HTTP/2 404\r\n\r\n<p>x"),
		record("HTTP/2 200\r\nContent-Type: image/png\r\n\r\nx")
	values, report, err := read(t, page+missing+image+missing+image)
	require.NoError(t, err)
	require.Len(t, values, 1)
	require.Equal(t, "4 responses of web archives without a page: 2 of type image/png (first stdin:3), 2 status 404 "+
		"(first stdin:2)\n", report)
}
