package console

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

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
	tab := browser(t, 1200, 900, "light")
	tab.run(chromedp.Navigate(page + "?publisher=%3Cb%3Epost"))
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
	for _, width := range []int64{320, 768, 1400} {
		for _, address := range []string{page, story} {
			narrow := browser(t, width, 900, "dark")
			narrow.run(chromedp.Navigate(address))
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
