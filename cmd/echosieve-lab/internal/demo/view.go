package demo

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/app/files"
	"echosieve/app/storylist"
	"echosieve/app/visible"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

// view prints verdicts when they arrive, and a summary. Not for concurrent use.
type view struct {
	out     io.Writer
	decode  *decode.Config
	colour  bool
	titles  map[string]string // article id -> title, to show the title that a copy repeats
	counts  map[string]int
	stories *stories.Fold
	delays  []time.Duration // from the timestamp of a record until its verdict was read
}

func newView(out io.Writer, decode *decode.Config, records []record.Record) *view {
	published := *decode
	published.FindPublished = true
	v := &view{out: out, decode: &published, colour: files.OnTerminal(out), titles: map[string]string{},
		counts: map[string]int{}, stories: stories.NewFold(&stories.Rules{Window: config.Default().Window})}
	for i := range records {
		if content, reject := decode.Decode(&records[i]); reject == nil {
			v.titles[content.ID] = titleOf(content)
		}
	}
	return v
}

func (v *view) start(brokers []string, listen, recipe string) {
	fmt.Fprintf(v.out, "Kafka (in-process)  %s\nmetrics             http://%s/metrics\nhealth              "+
		"http://%s/readyz\nrecipe              %s\n\n",
		strings.Join(brokers, ","), listen, listen, recipe)
	v.row("VERDICT", "TITLE", "BITS", "REPEATS")
}

// show prints one record of an output topic.
func (v *view) show(r *record.Record) {
	v.delays = append(v.delays, time.Since(r.Time))
	says, _ := pipeline.ParseHeaders(r.Headers) // the service's own
	content, _ := v.decode.Decode(&record.Record{Value: r.Value})
	verdict, title, bits, repeats := says.Verdict.Kind.String(), titleOf(content), "", ""
	if says.Reject != nil {
		verdict, title, repeats = "dead", cmp.Or(title, string(r.Value)), says.Reject.Error()
	} else {
		v.stories.Add(&says.Verdict, article.Ref{ID: content.ID, Coordinates: says.Input}, content, r.Time)
		if says.Verdict.HasOriginal() {
			bits, repeats = strconv.Itoa(says.Verdict.Distance), v.titles[says.Verdict.Original.ID]
		}
		if !says.Verdict.Kind.IsCopy() {
			v.titles[content.ID] = title
		}
	}
	v.counts[verdict]++
	v.row(verdict, title, bits, repeats)
}

// row prints one line. A column is cut and padded by the width on the screen: a Chinese character is as wide
// as two letters.
func (v *view) row(verdict, title, bits, repeats string) {
	cell := func(s string, width int) string {
		return text.Pad(text.Snip(strings.TrimSpace(visible.Line(s)), width, "~"), width, ' ')
	}
	colour := map[string]text.Color{"unique": text.FgGreen, "possible": text.FgCyan, "near": text.FgYellow,
		"exact": text.FgYellow, "dead": text.FgRed}[verdict]
	name := cell(verdict, 8)
	if colour != 0 && v.colour {
		name = colour.Sprint(name)
	}
	fmt.Fprintln(v.out, strings.TrimRight(name+"  "+cell(title, titleWidth)+"  "+cell(bits, 4)+"  "+
		cell(repeats, titleWidth), " "))
}

// titleWidth is the width of a title: two of them and the other columns take 80 columns of a terminal.
const titleWidth = 31

// summary prints counts and delays of the verdicts shown so far and, if there was a burst, the rate at which
// its verdicts came.
func (v *view) summary(burst int, took time.Duration) {
	slices.Sort(v.delays)
	quantile := func(q float64) time.Duration { return v.delays[int(q*float64(len(v.delays)-1))] }
	var counts []string
	for _, verdict := range []string{"unique", "possible", "near", "exact", "dead"} {
		if n := v.counts[verdict]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	fmt.Fprintf(v.out, "\n%s: %s\n", visible.Count(len(v.delays), "record"), strings.Join(counts, ", "))
	fmt.Fprintf(v.out, "A verdict took %s (p50), %s (p99).\n", quantile(.5).Round(time.Millisecond),
		quantile(.99).Round(time.Millisecond))
	if burst > 0 {
		fmt.Fprintf(v.out, "%d more at once: %.0f verdicts/s, with Kafka and Redis in the same process\n", burst,
			float64(burst)/took.Seconds())
	}
}

// largest is the number of stories that the demo prints.
const largest = 3

// showStories prints the largest stories.
func (v *view) showStories() {
	all := v.stories.Records()
	all = all[:min(largest, len(all))]
	fmt.Fprintf(v.out, "\nThe %d largest stories (docs/stories.md):\n", len(all))
	for _, s := range all {
		fmt.Fprintf(v.out, "%s, %s, first %s: %s\n", visible.Count(s.Copies, "copy"),
			visible.Count(s.Publishers, "publisher"), text.Snip(visible.Line(s.ByPublisher[0].Name), 14, "~"),
			text.Snip(visible.Line(s.Root.Title), titleWidth, "~"))
	}
}

// showLearnt prints a sentence that the service has learnt.
func (v *view) showLearnt(row learnt.Row) {
	fmt.Fprintf(v.out, "\nLearnt, left out from %s on: %s: %s\n", row.Begin.Local().Format("15:04"), row.Publisher,
		text.Snip(visible.Line(row.Sentence), titleWidth, "~"))
}

// invite prints how to use a demo that stays up.
func (v *view) invite(cfg config.Config, listen string) {
	fmt.Fprintf(v.out, `
still up until Ctrl-C; the console is at http://%[1]s%[2]s, programs ask: curl 'http://%[1]s%[6]s?sort=publishers'
publish from another terminal, ask why an article got its verdict, and publish it after all:
  %[5]s produce --kafka.brokers %[3]s FILE
  %[5]s explain --kafka.brokers %[3]s --redis.addrs %[4]s --id ID
  %[5]s release --kafka.brokers %[3]s --redis.addrs %[4]s ID
`, listen, console.Path, strings.Join(cfg.Kafka.Brokers, ","), strings.Join(cfg.Redis.Addrs, ","), beside(os.Args[0]),
		storylist.Path)
}

// beside returns how the program echosieve is typed by a user who typed the path of this program: both lie in
// one folder. A program that was found by the shell has no folder in its path.
func beside(path string) string {
	folder, _ := filepath.Split(path)
	if program := folder + "echosieve"; files.Check(program, "a program") == nil {
		return program
	}
	return "echosieve"
}

// titleOf returns the title. A flash without a title is shown with its text.
func titleOf(c article.Content) string {
	if c.Title != "" {
		return c.Title
	}
	return c.Text
}
