// Package console tests the web console in a real browser: headless Chromium, with the demo as the service.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/app/access"
	"echosieve/app/config"
	"echosieve/test/certs"
	"echosieve/test/inprocess"
)

const rows = `document.querySelectorAll("#feed li").length`

// row is the button of the newest row whose title holds a text.
func row(title string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#feed button")]
		.find((b) => b.querySelector(".title").textContent.includes(%q))`, title)
}

func TestConsole(t *testing.T) {
	page, broker, redisAddr := demo(t)
	t.Cleanup(endDemo) // the index of this one is gone at the end

	t.Run("sample", func(t *testing.T) {
		tab := browser(t, page, 1200, 900, "light")
		tab.until(rows + " === 50")
		tab.until(`document.querySelectorAll("#connections .up").length === 3`)
		require.NotEqual(t, "-", eval[string](tab, `document.getElementById("share").textContent`))
		require.Positive(t, eval[int](tab,
			`document.querySelectorAll("#share-chart rect[height]:not([height='0'])").length`))
		tab.screenshot("console.png")
		require.Regexp(t, `^\d+/s$`, eval[string](tab, `document.getElementById("rate-top").textContent`),
			"the chart has no scale")
		require.Empty(t, eval[[]string](tab,
			`[...document.querySelectorAll("#feed .bits")].map((e) => e.textContent)
				.filter((s) => s && !/^(1 bit|(0|[2-9]|\d\d) bits)$/.test(s))`))
		require.Greater(t, eval[int](tab,
			`[...document.querySelectorAll("#feed .original")].filter((e) => /^of .* /.test(e.textContent)).length`),
			3, "copies have the title of the original")

		// A filter opens another feed, which shows earlier verdicts that it selects, too.
		tab.do(`for (const box of document.querySelectorAll("[name=verdict]")) if (box.value !== "near") box.click()`)
		tab.until(rows + " > 0 && " + rows + ` === document.querySelectorAll("#feed .near").length`)
		near := eval[int](tab, rows)
		tab.run(chromedp.Focus(`[name=min]`), chromedp.KeyEvent("5"))
		tab.until(rows + " < " + fmt.Sprint(near))
		require.True(t, eval[bool](tab,
			`[...document.querySelectorAll("#feed .bits")].every((e) => parseInt(e.textContent) >= 5)`))
		// The address holds the filters: who opens it sees the same.
		selected := eval[int](tab, rows)
		require.Contains(t, eval[string](tab, "location.search"), "verdict=near&min=5")
		tab.do(`window.old = true; location.reload()`)
		tab.run(chromedp.WaitVisible("#feed li"))
		tab.until(`!window.old && ` + rows + ` > 0`)
		require.Equal(t, selected, eval[int](tab, rows))
		require.Equal(t, []string{"near"},
			eval[[]string](tab, `[...document.querySelectorAll("[name=verdict]:checked")].map((e) => e.value)`))
	})

	t.Run("details", func(t *testing.T) {
		tab := browser(t, page, 1200, 900, "dark")
		tab.run(chromedp.WaitVisible("#query"))
		tab.until(rows + " > 0")
		// Keys alone: "/" goes to the search, Enter searches, Escape closes the dialog.
		tab.run(chromedp.KeyEvent("/"))
		require.Equal(t, "query", eval[string](tab, "document.activeElement.id"))
		tab.do(`document.getElementById("query").value = ""`) // the protocol types "/" although the page prevents it
		tab.run(chromedp.KeyEvent("en-bees-reword"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelectorAll("#sides mark").length > 1`)
		title := eval[string](tab, `document.querySelector("#sides .side h3").textContent`)
		require.Greater(t, len(title), 20, "the original has its title")
		require.Equal(t, "near copy of "+title,
			eval[string](tab, `document.getElementById("detail-title").textContent`))
		require.Equal(t, 2, eval[int](tab, `document.querySelectorAll("#sides .side").length`))
		require.Equal(t, []string{"Earlier: the original", "Later: this article"},
			eval[[]string](tab, `[...document.querySelectorAll("#sides .role")].map((e) => e.textContent)`))
		require.Regexp(t, `^[A-Z].* \(\w+\)\. \d+ bits? apart`,
			eval[string](tab, `document.getElementById("detail-note").textContent`), "the reason has its sentence")
		tab.screenshot("console-pair.png")
		tab.closeDetail()
		// A copy with markup is an exact copy: nothing differs.
		tab.run(chromedp.SetValue("#query", "zh-tea-html"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 100`)
		require.Equal(t, 0, eval[int](tab, `document.querySelectorAll("#sides mark").length`))
		tab.closeDetail()
		// A row that is clicked right after the dialog was closed is shown, although the event of the closing
		// comes after the click.
		tab.do(`const near = document.querySelector("#feed .near").closest("button"); near.click()
			document.getElementById("detail").close(); near.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 20`)
		tab.closeDetail()
		tab.run(chromedp.SetValue("#query", "articles/0/0"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 100`)
		tab.closeDetail()
		tab.run(chromedp.SetValue("#query", "no such id"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.getElementById("found").textContent.includes("No article")`)
	})

	t.Run("hostile texts", func(t *testing.T) {
		tab := browser(t, page, 1200, 900, "light")
		tab.until(rows + " > 0")
		script := `<script>document.title="owned"</script><img src=x onerror='document.title="owned"'>`
		long := strings.Repeat("The harbour handled many containers on this long day. ", (1<<20-4096)/54)
		publish(t, broker,
			map[string]string{"id": "script", "title": script, "source": script,
				"text": script + " The library of Larkfield opens its doors on Sundays from May on."},
			map[string]string{"id": "rtl", "title": "right \u202eto left\u202c end",
				"text": "\u202eThe museum\u202c of Gullhaven shows forty paintings of ships until the end of August."},
			map[string]string{"id": "long", "title": "a long one", "text": long})
		tab.until(row("a long one") + ` !== undefined`)
		tab.do(row("<script>") + `.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.includes("<script>")`)
		require.Equal(t, "Echosieve", eval[string](tab, "document.title"))
		require.Zero(t, eval[int](tab,
			`document.querySelectorAll("main script, main img, dialog script, dialog img").length`))
		tab.closeDetail()
		tab.do(row("right") + `.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.includes("museum")`)
		require.Equal(t, "isolate",
			eval[string](tab, `getComputedStyle(document.querySelector("#sides .text")).unicodeBidi`))
		tab.closeDetail()
		tab.do(row("a long one") + `.click()`)
		tab.until(`document.querySelector("#sides .about")?.textContent.includes("Only the beginning")`)
	})

	t.Run("pause", func(t *testing.T) {
		tab := browser(t, page, 1200, 900, "light")
		tab.until(rows + " > 0")
		tab.run(chromedp.KeyEvent("p"))
		publish(t, broker, map[string]string{"id": "paused", "title": "while paused",
			"text": "Two lynxes were seen near the reservoir of Northmoor by a ranger this week."})
		tab.until(`document.getElementById("sampled").textContent.includes("1 verdict waiting")`)
		require.True(t, eval[bool](tab, row("while paused")+" === undefined"))
		tab.run(chromedp.KeyEvent("p"))
		tab.until(row("while paused") + " !== undefined")
	})

	t.Run("two texts", func(t *testing.T) {
		tab := browser(t, page, 390, 844, "light")
		tab.until(rows + " > 0")
		require.LessOrEqual(t, eval[int](tab, "document.documentElement.scrollWidth"), 390,
			"the page is wider than a telephone")
		text := "The council of Larkfield approved the new tram line on Monday after a debate of six hours, the " +
			"mayor said."
		tab.run(chromedp.SetValue("[name=earlier]", text),
			chromedp.SetValue("[name=later]", strings.ReplaceAll(text, "Monday", "monday,")),
			chromedp.Click("#compare button"))
		tab.until(`document.getElementById("detail-title").textContent === "exact"`)
		require.Contains(t, eval[string](tab, `document.querySelector("#detail-note summary").textContent`), "New: none, ")
	})

	t.Run("links", func(t *testing.T) {
		tab := browser(t, page, 1280, 900, "light")
		tab.until(rows + " > 0")
		require.Less(t, eval[float64](tab, `(() => { const tops = [...document.getElementById("filter").children]
			.map((e) => e.getBoundingClientRect().top); return Math.max(...tops) - Math.min(...tops) })()`), 15.,
			"the row of filters wraps")
		require.Less(t, eval[int](tab, `Math.round(document.getElementById("pause").getBoundingClientRect().top)`),
			eval[int](tab, `Math.round(document.getElementById("feed-title").getBoundingClientRect().bottom)`),
			"Pause is alone on a line")
		tab.do(`document.querySelector("#feed .near").closest("button").click()`)
		tab.until(`document.querySelectorAll("#sides .side").length === 2`)
		title, link := eval[string](tab, `document.getElementById("detail-title").textContent`),
			eval[string](tab, "location.href")
		require.Contains(t, link, "?at=articles")
		tab.do(`document.querySelector("#detail-note button").click()`)
		tab.until(`document.querySelector("#detail-note [role=status]").textContent.includes(" Published as articles/")`)
		tab.closeDetail()
		require.NotContains(t, eval[string](tab, "location.href"), "at=")
		tab.run(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
		tab.until(`document.querySelectorAll("#sides .side").length === 2`)
		require.Equal(t, title, eval[string](tab, `document.getElementById("detail-title").textContent`))
	})

	// Last, because it takes the index from the others.
	t.Run("warnings", func(t *testing.T) {
		tab := browser(t, page, 1200, 900, "light")
		tab.until(`document.querySelectorAll("#connections .up").length === 3`)
		require.Zero(t, eval[int](tab, `document.querySelectorAll("#warnings li").length`))
		client := redis.NewClient(&redis.Options{Addr: redisAddr})
		defer client.Close()
		require.NoError(t, client.FlushAll(t.Context()).Err())
		tab.until(`document.querySelector("#warnings li") !== null`)
		tab.until(`document.querySelector("#connection-redis.warned") !== null`)
		response, err := http.Get(strings.TrimSuffix(page, "console/") + "readyz")
		require.NoError(t, err)
		defer response.Body.Close()
		var state struct {
			Components map[string]struct{ Warnings []string }
		}
		require.NoError(t, json.NewDecoder(response.Body).Decode(&state))
		require.NotEmpty(t, state.Components["redis"].Warnings)
		for _, text := range state.Components["redis"].Warnings {
			tab.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
		}
	})
}

const storyLines = `document.querySelectorAll("#stories li").length`

// A list of stories leads to one of them, that to a verdict, and the verdict back to the story. Each of the three has
// an address, which shows the same again. Pages fit every width, and text of strangers stays text.
func TestStories(t *testing.T) {
	page, broker, _ := demo(t)
	page += "stories/"
	hostile := map[string]string{
		"id": "script", "source": "<b>Post</b>",
		"title": `<img src=x onerror='document.body.remove()'> ` + "\u202eevil",
		"text":  "The swimming pool of Larkfield closes for three weeks because its roof must be mended before winter.",
	}
	publish(t, broker, hostile, hostile)
	require.Eventually(t, func() bool { // the browser would log an answer 503
		answer, err := http.Get(page + "../api/stories")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, patience, 100*time.Millisecond)
	tab := browser(t, page+"?publisher=%3Cb%3Epost", 1200, 900, "light")
	tab.until(storyLines + ` === 1 && document.querySelector("#stories .copies").textContent === "1 copy"`)
	require.Contains(t, eval[string](tab, `document.querySelector("#stories").textContent`), "<img src=x")
	tab.do(`document.querySelector("#stories a").click()`)
	tab.until(`document.querySelector("#facts th[scope=row]")?.textContent === "<b>Post</b>"`)
	require.Zero(t, eval[int](tab, `document.querySelectorAll("main img, main b").length`))

	tab.run(chromedp.Navigate(page))
	tab.until(storyLines + " > 10")
	sizes := eval[[]int](tab, `[...document.querySelectorAll("#stories .copies")].map((e) => parseInt(e.textContent))`)
	require.IsNonIncreasing(t, sizes)
	require.Greater(t, sizes[0], 1)
	tab.run(chromedp.EmulateViewport(1200, 535)) // the stories of the sample that have two copies
	tab.screenshot("stories.png")
	publishers := `[...document.querySelectorAll("#stories a")]
		.map((e) => parseInt(e.textContent.match(/(\d+) publisher/)[1]))`
	tab.do(`const order = document.querySelector("[name=sort]");
		order.value = "publishers"; order.dispatchEvent(new Event("input", {bubbles: true}))`)
	tab.until(publishers + `.every((n, i, all) => i === 0 || n <= all[i - 1])`)
	require.Equal(t, "?sort=publishers", eval[string](tab, "location.search"))
	tab.do(`window.old = true; location.reload()`)
	tab.until("!window.old && " + storyLines + " > 10")
	require.Equal(t, "publishers", eval[string](tab, `document.querySelector("[name=sort]").value`))

	tab.run(chromedp.EmulateViewport(1000, 600), chromedp.Navigate(page+"?title=night+clinic"))
	tab.until(storyLines + " === 1")
	tab.do(`document.querySelector("#stories a").click()`)
	tab.until(`document.querySelectorAll("#facts tbody tr").length > 1`)
	story := eval[string](tab, "location.href")
	title := eval[string](tab, `document.getElementById("story-title").textContent`)
	require.Contains(t, story, "?root=articles%2F0%2F")
	require.Contains(t, eval[string](tab, `document.getElementById("facts").textContent`), "It grows")
	require.Equal(t, 1, eval[int](tab,
		`[...document.querySelectorAll("#facts tbody .quiet")].filter((e) => e.textContent === "first").length`))
	for _, width := range []int64{320, 768, 1400} {
		for _, address := range []string{page, story} {
			narrow := browser(t, address, width, 900, "dark")
			narrow.until(`document.querySelector("#stories li, #facts tr") !== null`)
			require.LessOrEqual(t, eval[int64](narrow, "document.documentElement.scrollWidth"), width, address)
		}
	}
	tab.do(`[...document.querySelectorAll("#facts tbody tr")].find((row) => !row.textContent.includes("the root"))
		.querySelector("a").click()`)
	tab.until(`document.querySelectorAll("#sides .side").length === 2`)
	tab.do(`document.querySelector("#detail-note a").click()`)
	tab.until(fmt.Sprintf(`document.getElementById("story-title")?.textContent === %q`, title))
	require.Equal(t, story, eval[string](tab, "location.href"))

	// A root that nothing repeats.
	tab = &browserTab{t, startBrowser(t)} // whose log may hold an answer 404
	tab.run(chromedp.Navigate(page + "?root=articles/0/999999"))
	tab.until(`document.getElementById("note").textContent.startsWith("No story has this root")`)
}

// TestConsoleIsReadOnly requires that the console refuses requests that could change something, but for releases of
// dropped articles, and that only the console shows articles.
func TestConsoleIsReadOnly(t *testing.T) {
	page, _, _ := demo(t)
	base, err := url.Parse(page)
	require.NoError(t, err)
	ask := func(method, path string) (int, string) {
		t.Helper()
		at, err := base.Parse(path)
		require.NoError(t, err)
		request, err := http.NewRequest(method, at.String(), strings.NewReader("{"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	for _, path := range []string{"", "api/verdict", "api/titles", "api/feed", "api/find", "api/stories", "stories/"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			status, _ := ask(method, path)
			require.Equal(t, http.StatusMethodNotAllowed, status, "%s %s", method, path)
		}
	}
	for _, path := range []string{"api/compare", "api/release", "api/release?at=x"} {
		status, _ := ask(http.MethodPost, path)
		require.Equal(t, http.StatusBadRequest, status, path)
	}
	status, _ := ask(http.MethodGet, "api/release?at=articles/0/0")
	require.Equal(t, http.StatusNotFound, status, "a link changes nothing")
	status, refused := ask(http.MethodPost, "api/release?at=articles/0/0")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, refused, "nothing was dropped")

	_, article := ask(http.MethodGet, "api/verdict?at=articles/0/0")
	var shown struct {
		Articles []struct{ ID, Title, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(article), &shown))
	for _, path := range []string{"../", "../metrics", "../readyz", "../healthz"} {
		status, body := ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, status, path)
		for _, word := range []string{shown.Articles[0].ID, shown.Articles[0].Title, shown.Articles[0].Text[:40]} {
			require.NotEmpty(t, word)
			require.NotContains(t, body, word, path)
		}
	}
}

// TestConsoleBehindALogin asks a service with TLS and a login, with the token of a program and without.
func TestConsoleBehindALogin(t *testing.T) {
	pair, dir := certs.NewAuthority(t).ServerOn("127.0.0.1"), t.TempDir()
	web, token := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(web,
		fmt.Appendf(nil, "tls_server_config: {cert_file: %s, key_file: %s}\n", pair.Cert, pair.Key), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("a-token-of-a-program\n"), 0o600))
	w := inprocess.Start(t, func(c *config.Config) {
		c.HTTP.Console, c.HTTP.ConfigFile, c.HTTP.TokenFile, c.HTTP.Open = true, web, token, []string{"/healthz"}
	})
	cfg := w.Config.HTTP
	cfg.Listen = w.HTTP
	status := func(cfg config.HTTPConfig, path string) int {
		res, err := access.Ask(t.Context(), cfg, path)
		require.NoError(t, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
	require.Eventually(t, func() bool { return status(cfg, "/readyz") == http.StatusOK }, patience, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, status(cfg, "/console/api/find?q=a"))
	cfg.TokenFile = ""
	for _, path := range []string{"/readyz", "/console/", "/console/api/find?q=a"} {
		require.Equal(t, http.StatusUnauthorized, status(cfg, path), path)
	}
	require.Equal(t, http.StatusOK, status(cfg, "/healthz"))
}
