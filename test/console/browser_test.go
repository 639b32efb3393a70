package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/service"

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

// shared are the demo and the browser of all tests; TestMain ends them.
var shared struct {
	page, broker, redis string
	demo                *child.Process
	browser             context.Context
	stop                func()
}

func TestMain(m *testing.M) {
	code := service.Main(m)
	if shared.browser != nil {
		shared.stop()
	}
	endDemo()
	os.Exit(code)
}

// demo returns the addresses of the console, the Kafka and the Redis of a demo, which it starts unless one runs.
func demo(t *testing.T) (page, broker, redis string) {
	t.Helper()
	if shared.demo == nil {
		startDemo(t)
	}
	return shared.page, shared.broker, shared.redis
}

func endDemo() {
	if shared.demo != nil {
		shared.demo.Stop(patience)
		shared.demo = nil
	}
}

func startDemo(t *testing.T) {
	cmd := exec.Command(service.Binary+"-lab", "demo", "--serve")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	shared.demo, err = child.Start(cmd)
	require.NoError(t, err)
	deadline := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer deadline.Stop()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if at := regexp.MustCompile(`http://\S+/console/`).FindString(lines.Text()); at != "" {
			shared.page = at
		}
		if m := regexp.MustCompile(`explain --kafka.brokers (\S+) --redis.addrs (\S+)`).FindStringSubmatch(
			lines.Text()); m != nil {
			shared.broker, shared.redis = m[1], m[2]
			go func() { // the demo must not wait for a reader
				for lines.Scan() {
				}
			}()
			return
		}
	}
	require.Fail(t, "the demo ended", stderr.String())
}

// browserTab is a tab of a browser. Its methods fail the test.
type browserTab struct {
	t   *testing.T
	ctx context.Context
}

// browser opens a page in a tab of a given size. It fails the test if the page logs an error, for example about its
// Content-Security-Policy. An answer 503 of readyz is none: the service may be slow for a moment.
func browser(t *testing.T, page string, width, height int64, scheme string) *browserTab {
	t.Helper()
	var watchers sync.WaitGroup
	t.Cleanup(watchers.Wait) // when the tab has ended
	tab := startBrowser(t)
	thrown, logged := chromedp.Events(tab, runtime.ExceptionThrown), chromedp.Events(tab, log.EntryAdded)
	watchers.Go(func() {
		for e, err := range thrown {
			if err == nil {
				t.Errorf("the page's script failed: %s", e.ExceptionDetails.Exception.Description)
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
	b.run(chromedp.EmulateViewport(width, height), func(ctx context.Context, _ *chromedp.Target) (chromedp.Void,
		error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}})
		return chromedp.Void{}, err
	}, chromedp.Navigate(page))
	return b
}

// startBrowser opens a tab, which ends with the test, in the browser that all tests share. The tab has cookies and
// logins of its own.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if shared.browser == nil {
		name, err := exec.LookPath("chromium")
		require.NoError(t, err, "install Debian's package chromium")
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.NoSandbox,
			chromedp.WSURLReadTimeout(patience))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		tab, closeTab := chromedp.NewContext(allocator)
		shared.browser = tab //nolint:fatcontext // it lives as long as the test binary
		shared.stop = func() { closeTab(); stop() }
		// starts the browser, whose life must not end with a shorter context
		require.NoError(t, chromedp.Do(tab, chromedp.Steps()))
	}
	tab, closeTab := chromedp.NewContext(shared.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	require.NoError(t, chromedp.Do(tab, chromedp.Steps()))
	return tab
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

// until waits until an expression is true in the page. While the page is being replaced by another one, the browser
// evaluates nothing and returns an error: then the expression is evaluated again.
func (b *browserTab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && is {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			require.NoError(b.t, errors.Join(err, ctx.Err()), expression)
		}
	}
}

// screenshot writes the page to docs with -update.
func (b *browserTab) screenshot(name string) {
	if !*update {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join("..", "..", "docs", name), small(b.t, picture), 0o644))
}

// small returns a picture with its 64 most frequent colours, which takes a third of the bytes.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	counts, area := map[color.Color]int{}, from.Bounds()
	for y := range area.Dy() {
		for x := range area.Dx() {
			counts[from.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	to := image.NewPaletted(area, palette[:min(64, len(palette))])
	draw.Draw(to, area, from, image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to))
	return b.Bytes()
}

// publish publishes articles into the demo, as JSON lines on the standard input of produce.
func publish(t *testing.T, broker string, articles ...map[string]string) {
	t.Helper()
	var lines bytes.Buffer
	for _, a := range articles {
		require.NoError(t, json.NewEncoder(&lines).Encode(a))
	}
	cmd := exec.Command(service.Binary, "produce", "--kafka.brokers", broker, "-")
	cmd.Stdin = &lines
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// closeDetail closes the dialog by its key, and waits until the page has noticed: later steps wait for texts in the
// dialog, and must not see those of before.
func (b *browserTab) closeDetail() {
	b.t.Helper()
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.getElementById("detail").open && !document.querySelector("#sides > *")`)
}
