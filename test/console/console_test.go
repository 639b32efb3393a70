// Package console tests the web console in a real browser: headless Chromium, with the demo as the service.
package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"echosieve/internal/child"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the screenshots in docs")

// patience bounds every wait for something that takes a second or two.
const patience = 4 * time.Minute

// demo starts the demo and returns the address of its console and of its Kafka.
func demo(t *testing.T) (page, broker string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "echosieve-lab")
	out, err := exec.Command("go", "build", "-o", binary, "echosieve/cmd/echosieve-lab").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command(binary, "demo", "--serve")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	process, err := child.Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() { process.Stop(patience) })
	deadline := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer deadline.Stop()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if at := regexp.MustCompile(`http://\S+/console/`).FindString(lines.Text()); at != "" {
			page = at
		}
		if _, after, ok := strings.Cut(lines.Text(), "produce --kafka.brokers "); ok {
			broker, _, _ = strings.Cut(after, " ")
			go func() { // the demo must not wait for a reader
				for lines.Scan() {
				}
			}()
			return page, broker
		}
	}
	require.Fail(t, "the demo ended", stderr.String())
	return "", ""
}

// browserTab is a tab of a browser. Its methods fail the test.
type browserTab struct {
	t   *testing.T
	ctx context.Context
}

// browser opens a tab of a given size. It fails the test if the page logs an error, for example about its Content-Security-Policy. An answer
// 503 of readyz is none: the service may be slow for a moment.
func browser(t *testing.T, width, height int64, scheme string) *browserTab {
	t.Helper()
	name, err := exec.LookPath("chromium")
	require.NoError(t, err, "install Debian's package chromium")
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))...)
	tab, closeTab := chromedp.NewContext(allocator)
	require.NoError(t, chromedp.Do(tab, chromedp.Steps())) // starts the browser, whose life must not end with a shorter context
	var watchers sync.WaitGroup
	t.Cleanup(func() {
		closeTab()
		stop()
		watchers.Wait()
	})
	thrown, logged := chromedp.Events(tab, runtime.ExceptionThrown), chromedp.Events(tab, log.EntryAdded)
	watchers.Go(func() {
		for e, err := range thrown {
			if err == nil {
				t.Errorf("the page's script failed: %s", e.ExceptionDetails.Text)
			}
		}
	})
	watchers.Go(func() {
		for e, err := range logged {
			if err == nil && e.Entry.Level == log.EntryLevelError && !strings.HasSuffix(e.Entry.URL, "/readyz") {
				t.Errorf("the page logged: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	})
	b := &browserTab{t, tab}
	b.run(chromedp.EmulateViewport(width, height), func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return chromedp.Void{}, err
	})
	return b
}

// run runs steps in a tab.
func (b *browserTab) run(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

// eval evaluates an expression in the page.
func eval[T any](b *browserTab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return value
}

// do evaluates a statement in the page.
func (b *browserTab) do(statement string) {
	b.t.Helper()
	eval[bool](b, "(() => {"+statement+"; return true})()")
}

// until waits until an expression is true in the page.
func (b *browserTab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	require.NoError(b.t, err, expression)
}

// screenshot writes the page to docs with -update. Without, it requires that the file in docs is a picture of the same width.
func (b *browserTab) screenshot(name string) {
	t := b.t
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	path := filepath.Join("..", "..", "docs", name)
	if *update {
		require.NoError(t, os.WriteFile(path, picture, 0o644))
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err, "write it: go test ./test/console -update")
	now, err := png.DecodeConfig(bytes.NewReader(picture))
	require.NoError(t, err)
	old, err := png.DecodeConfig(bytes.NewReader(kept))
	require.NoError(t, err)
	require.Equal(t, now.Width, old.Width)
}

// publish publishes articles into the demo, as JSON lines on the standard input of produce.
func publish(t *testing.T, broker string, articles ...map[string]string) {
	t.Helper()
	var lines bytes.Buffer
	for _, a := range articles {
		require.NoError(t, json.NewEncoder(&lines).Encode(a))
	}
	cmd := exec.Command("go", "run", "echosieve/cmd/echosieve", "produce", "--kafka.brokers", broker, "-")
	cmd.Stdin = &lines
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// closeDetail closes the dialog by its key, and waits until the page has noticed: later steps wait for texts in the dialog, and must not
// see those of before.
func (b *browserTab) closeDetail() {
	b.t.Helper()
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.getElementById("detail").open && !document.querySelector("#sides > *")`)
}

// holdAnswer does what makes the page send a request whose address begins with a path. It waits for the request, and holds its answer until
// releaseAnswer.
func (b *browserTab) holdAnswer(path string, ask func()) {
	b.t.Helper()
	b.do(fmt.Sprintf(`const real = window.fetch; window.answered = false; window.release = null;
		window.fetch = async (url, ...options) => {
			if (!url.startsWith(%q)) return real(url, ...options);
			window.fetch = real;
			await new Promise((release) => { window.release = release });
			const response = await real(url, ...options), json = response.json.bind(response);
			response.json = async () => { const value = await json(); setTimeout(() => { window.answered = true }); return value };
			return response;
		}`, path))
	ask()
	b.until(`window.release !== null`)
}

// releaseAnswer lets the page have the held answer, and returns when the page has worked it off.
func (b *browserTab) releaseAnswer() {
	b.t.Helper()
	b.do(`window.release()`)
	b.until(`window.answered`)
}

const rows = `document.querySelectorAll("#feed li").length`

// row is the button of the newest row whose title holds a text.
func row(title string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#feed button")].find((b) => b.querySelector(".title").textContent.includes(%q))`, title)
}

func TestConsole(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	page, broker := demo(t)

	t.Run("sample", func(t *testing.T) {
		tab := browser(t, 1200, 900, "light")
		tab.run(chromedp.Navigate(page))
		tab.until(rows + " === 50")
		tab.until(`document.querySelectorAll("#connections .up").length === 3`)
		require.NotEqual(t, "-", eval[string](tab, `document.getElementById("share").textContent`))
		require.Positive(t, eval[int](tab, `document.querySelectorAll("#share-chart rect[height]:not([height='0'])").length`))
		tab.screenshot("console.png")

		// A filter opens another feed, which shows earlier verdicts that it selects, too.
		tab.do(`for (const box of document.querySelectorAll("[name=verdict]")) if (box.value !== "near") box.click()`)
		tab.until(rows + " > 0 && " + rows + ` === document.querySelectorAll("#feed .near").length`)
		near := eval[int](tab, rows)
		tab.run(chromedp.Focus(`[name=min]`), chromedp.KeyEvent("5"))
		tab.until(rows + " < " + fmt.Sprint(near))
		require.True(t, eval[bool](tab, `[...document.querySelectorAll("#feed .bits")].every((e) => parseInt(e.textContent) >= 5)`))
	})

	t.Run("details", func(t *testing.T) {
		tab := browser(t, 1200, 900, "dark")
		tab.run(chromedp.Navigate(page), chromedp.WaitVisible("#query"))
		tab.until(rows + " > 0")
		// Keys alone: "/" goes to the search, Enter searches, Escape closes the dialog.
		tab.run(chromedp.KeyEvent("/"))
		require.Equal(t, "query", eval[string](tab, "document.activeElement.id"))
		tab.do(`document.getElementById("query").value = ""`) // the protocol types "/" although the page prevents it
		tab.run(chromedp.KeyEvent("en-bees-reword"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelectorAll("#sides mark").length > 1`)
		require.Equal(t, "near of en-bees", eval[string](tab, `document.getElementById("detail-title").textContent`))
		require.Equal(t, 2, eval[int](tab, `document.querySelectorAll("#sides .side").length`))
		tab.screenshot("console-pair.png")
		tab.closeDetail()
		// A copy with markup is an exact copy: nothing differs.
		tab.run(chromedp.SetValue("#query", "zh-tea-html"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 100`)
		require.Equal(t, 0, eval[int](tab, `document.querySelectorAll("#sides mark").length`))
		tab.closeDetail()
		// An answer that comes after the dialog was closed does not open it again.
		tab.holdAnswer("api/articles", func() { tab.do(`document.querySelector("#feed button").click()`) })
		tab.closeDetail()
		tab.releaseAnswer()
		require.False(t, eval[bool](tab, `document.getElementById("detail").open`))
		// An answer to a search that comes after a row was opened does not replace the row.
		tab.holdAnswer("api/find", func() {
			tab.run(chromedp.SetValue("#query", "no such id"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		})
		tab.do(`document.querySelector("#feed .near").closest("button").click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 20`)
		tab.releaseAnswer()
		require.Empty(t, eval[string](tab, `document.getElementById("found").textContent`))
		tab.closeDetail()
		// A row that is clicked right after the dialog was closed is shown, although the event of the closing comes after the click.
		tab.do(`const near = document.querySelector("#feed .near").closest("button"); near.click(); document.getElementById("detail").close(); near.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 20`)
		tab.closeDetail()
		tab.run(chromedp.SetValue("#query", "articles/0/0"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.querySelector("#sides .text")?.textContent.length > 100`)
		tab.closeDetail()
		tab.run(chromedp.SetValue("#query", "no such id"), chromedp.Focus("#query"), chromedp.KeyEvent(kb.Enter))
		tab.until(`document.getElementById("found").textContent.includes("No article")`)
	})

	t.Run("hostile texts", func(t *testing.T) {
		tab := browser(t, 1200, 900, "light")
		tab.run(chromedp.Navigate(page))
		tab.until(rows + " > 0")
		script := `<script>document.title="owned"</script><img src=x onerror='document.title="owned"'>`
		long := strings.Repeat("The harbour handled many containers on this long day. ", (1<<20-4096)/54)
		publish(t, broker,
			map[string]string{"id": "script", "title": script, "source": script, "text": script + " The library of Larkfield opens its doors on Sundays from May on."},
			map[string]string{"id": "rtl", "title": "right \u202eto left\u202c end", "text": "\u202eThe museum\u202c of Gullhaven shows forty paintings of ships until the end of August."},
			map[string]string{"id": "long", "title": "a long one", "text": long})
		tab.until(row("a long one") + ` !== undefined`)
		tab.do(row("<script>") + `.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.includes("<script>")`)
		require.Equal(t, "Echosieve", eval[string](tab, "document.title"))
		require.Zero(t, eval[int](tab, `document.querySelectorAll("main script, main img, dialog script, dialog img").length`))
		tab.closeDetail()
		tab.do(row("right") + `.click()`)
		tab.until(`document.querySelector("#sides .text")?.textContent.includes("museum")`)
		require.Equal(t, "isolate", eval[string](tab, `getComputedStyle(document.querySelector("#sides .text")).unicodeBidi`))
		tab.closeDetail()
		tab.do(row("a long one") + `.click()`)
		tab.until(`document.querySelector("#sides .about")?.textContent.includes("Only the beginning")`)
	})

	t.Run("pause", func(t *testing.T) {
		tab := browser(t, 1200, 900, "light")
		tab.run(chromedp.Navigate(page))
		tab.until(rows + " > 0")
		tab.run(chromedp.KeyEvent("p"))
		publish(t, broker, map[string]string{"id": "paused", "title": "while paused", "text": "Two lynxes were seen near the reservoir of Northmoor by a ranger this week."})
		tab.until(`document.getElementById("sampled").textContent.includes("1 verdicts wait")`)
		require.True(t, eval[bool](tab, row("while paused")+" === undefined"))
		tab.run(chromedp.KeyEvent("p"))
		tab.until(row("while paused") + " !== undefined")
	})

	t.Run("two texts", func(t *testing.T) {
		tab := browser(t, 390, 844, "light")
		tab.run(chromedp.Navigate(page))
		tab.until(rows + " > 0")
		require.LessOrEqual(t, eval[int](tab, "document.documentElement.scrollWidth"), 390, "the page is wider than a telephone")
		text := "The council of Larkfield approved the new tram line on Monday after a debate of six hours, the mayor said."
		tab.run(chromedp.SetValue("[name=earlier]", text), chromedp.SetValue("[name=later]", strings.ReplaceAll(text, "Monday", "monday,")),
			chromedp.Click("#compare button"))
		tab.until(`document.getElementById("detail-title").textContent === "exact"`)
	})
}

// TestConsoleIsReadOnly requires that the console refuses requests that could change something, and answers on loopback to no other name.
func TestConsoleIsReadOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the demo")
	}
	page, _ := demo(t)
	status := func(method, path, host string) int {
		t.Helper()
		request, err := http.NewRequest(method, page+path, strings.NewReader("{"))
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status(http.MethodGet, "", "localhost:1"))
	require.Equal(t, http.StatusMisdirectedRequest, status(http.MethodGet, "", "news.example"))
	for _, path := range []string{"", "api/articles", "api/feed", "api/find"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			require.Equal(t, http.StatusMethodNotAllowed, status(method, path, ""), "%s %s", method, path)
		}
	}
	require.Equal(t, http.StatusBadRequest, status(http.MethodPost, "api/compare", ""))
	require.Equal(t, http.StatusBadRequest, status(http.MethodGet, "api/articles", ""))
}
