package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/pages"
	"echosieve/test/redisserver"
	"echosieve/test/service"
	"echosieve/test/tier"
)

const scrapy = "scrapy==2.19.0"

// spider crawls a site whose first page links to its articles, with the item pipeline in front of it.
const spider = `
import scrapy

class News(scrapy.Spider):
    name = "news"
    start_urls = ["%s"]
    custom_settings = {"ITEM_PIPELINES": {Articles: 300}, "LOG_LEVEL": "WARNING", "CONCURRENT_REQUESTS": 1}

    def parse(self, page):
        if page.css("p"):
            yield {"url": page.url, "title": page.css("h1::text").get(), "text": "\n".join(page.css("p::text").getall())}
        yield from page.follow_all(css="a")
`

// TestScrapy runs the item pipeline of docs/platforms.md, as the page prints it, in a crawl of a site that
// has an article twice.
func TestScrapy(t *testing.T) {
	tier.All(t)
	interpreter := python(t, scrapy)
	const article = "<p>The harbour board voted on Monday to deepen the eastern channel by two metres before " +
		"winter.</p><p>Work begins in March, " +
		"and the ferries to the islands will leave from the old quay until the dredgers have gone.</p>"
	articles := map[string]string{
		"/":     `<a href="/one">1</a><a href="/copy">2</a><a href="/other">3</a>`,
		"/one":  "<h1>Harbour</h1>" + article,
		"/copy": "<h1>Harbour</h1>" + article + "<p>Source: press agency.</p>",
		"/other": "<h1>Library</h1><p>Readers may borrow ten books at a time from next week on, said the head of " +
			"the town library, because the " +
			"new shelves are ready and the catalogue has moved to another computer.</p>",
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, articles[r.URL.Path])
	}))
	defer site.Close()

	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings())
	p.WaitReady(t)
	program := pages.Python(t, "../../docs/platforms.md", `"localhost:9092"`, strconv.Quote(c.kafka), `"articles"`,
		strconv.Quote(c.topic))
	file := filepath.Join(t.TempDir(), "news.py")
	require.NoError(t, os.WriteFile(file, []byte(program+fmt.Sprintf(spider, site.URL)), 0o644))
	out, err := exec.CommandContext(t.Context(), interpreter, "-m", "scrapy", "runspider", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "Traceback")
	require.NotContains(t, string(out), "Deprecat")

	verdicts := map[string][]string{}
	for _, r := range watch(t, c, len(articles)-1, func(int) {}) {
		verdict := ledger.Headers(r)[pipeline.HeaderVerdict]
		verdicts[verdict] = append(verdicts[verdict], strings.TrimPrefix(string(r.Key), site.URL))
	}
	require.Len(t, verdicts["unique"], 2, verdicts)
	require.Contains(t, verdicts["unique"], "/other")
	// partitions are read side by side: which of the two came first is open
	require.Len(t, verdicts["near"], 1, verdicts)
	stop(t, p)
}
