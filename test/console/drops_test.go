package console

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"echosieve/app/drops"
	"echosieve/test/host"
	"echosieve/test/service"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// The page of dropped articles: text of strangers stays text, keys mark drops, the filter hides others, and what it
// saves is what eval pairs and release read.
func TestDrops(t *testing.T) {
	folder := t.TempDir()
	page, marks := filepath.Join(folder, "drops.html"), filepath.Join(folder, "marks.tsv")
	hostile := `"><script>document.body.remove()</script><img src=x onerror='document.body.remove()'> ` + "\u202eevil\t\n"
	var lines strings.Builder
	for _, a := range []map[string]string{
		{"id": hostile, "title": hostile, "publisher": hostile, "text": council},
		{"id": "b", "title": "\u65b0\u95fb", "publisher": hostile,
			"text": strings.Replace(council, "in March", "in May", 1)},
		{"id": "c", "title": hostile, "publisher": "c.example", "text": council + " The work begins in spring and " +
			"ends in autumn, said the mayor, who thanked all who had waited for so long."},
		{"id": "d", "title": hostile, "publisher": "d.example", "text": council},
	} {
		line, err := json.Marshal(a)
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
	}
	cmd := exec.Command(service.Binary, "filter", "--html", page)
	cmd.Stdin = strings.NewReader(lines.String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	tab := browser(t, "file://"+page, 1200, 900, "light")
	shown := `[...document.querySelectorAll("article")].filter((a) => !a.hidden)`
	tab.until(shown + ".length === 3")
	require.Zero(t, eval[int](tab, `document.querySelectorAll("main img, main script").length`))
	require.Contains(t, eval[string](tab, "document.body.innerText"), "<script>document.body.remove()")
	require.NotContains(t, eval[string](tab, "document.body.innerText"), "\u202e")
	require.Equal(t, "c", eval[string](tab, `document.querySelector("article").dataset.idb`), "the least sure first")

	tab.do(`window.saved = null; HTMLAnchorElement.prototype.click = () => {};
		URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return "#"; }`)
	tab.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("v"), chromedp.KeyEvent("w"), chromedp.KeyEvent("r"),
		chromedp.KeyEvent("k"), chromedp.KeyEvent(kb.Tab))
	tab.until(`document.getElementById("count").textContent === "3 shown, 3 marked"`)
	tab.do(`document.getElementById("save").click()`)
	tab.until("window.saved !== null")
	require.NoError(t, os.WriteFile(marks, []byte(eval[string](tab, "window.saved")), 0o600))
	read, err := drops.ReadMarks(marks)
	require.NoError(t, err)
	require.Len(t, read, 3)
	require.Equal(t, drops.Mark{ID: "c", Record: "stdin/0/3", Label: drops.LabelVersion}, read[0])
	labels := map[string]int{}
	for _, m := range read {
		labels[m.Label]++
	}
	require.Equal(t, map[string]int{drops.LabelRight: 1, drops.LabelWrong: 1, drops.LabelVersion: 1}, labels)
	judged, err := exec.Command(service.Binary+"-lab", "eval", "pairs", "--pairs", marks).CombinedOutput()
	require.NoError(t, err, string(judged))
	require.Contains(t, string(judged), "3 pairs")

	tab.do(`const kinds = document.getElementById("kind"); kinds.value = "exact digest";
		kinds.dispatchEvent(new Event("change"))`)
	tab.until(shown + ".length === 1")
	for _, width := range []int64{320, 768} {
		narrow := browser(t, "file://"+page, width, 900, "dark")
		narrow.until(shown + ".length === 3")
		require.LessOrEqual(t, eval[int64](narrow, "document.documentElement.scrollWidth"), width)
	}
}

// The picture of the page in docs, of the shipped news.
func TestDropsOfTheSample(t *testing.T) {
	page := filepath.Join(t.TempDir(), "drops.html")
	cmd := exec.Command(service.Binary, "filter", "--html", page, "news.jsonl")
	cmd.Dir = filepath.Join(host.Root(t), "sample")
	_ = cmd.Run() // 1: some are dead letters
	tab := browser(t, "file://"+page, 1100, 560, "light")
	tab.until(`document.querySelectorAll("article").length > 20`)
	tab.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("r"), chromedp.KeyEvent("w"))
	tab.do(`scrollTo(0, 0)`)
	tab.screenshot("drops.png")
	tab.do(`HTMLAnchorElement.prototype.click = () => {}; document.getElementById("save").click()`)
}

const council = "The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which " +
	"was closed in March after a barge struck one of its piers. Two firms have offered to do the work within a year, " +
	"and the port will pay a third of it. Until then a ferry carries people on foot across the harbour every half hour."
