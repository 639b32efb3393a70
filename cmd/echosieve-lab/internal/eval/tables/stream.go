// Package tables prints the results of package figures as tables on a terminal.
package tables

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// MostListed is the number of rows of a list of articles, pairs or publishers. --json has all of them.
const MostListed = 20

// Stream writes the figures of eval stream.
func Stream(w io.Writer, r figures.StreamResult) error {
	var b strings.Builder
	total, words := r.Total(), r.Words()
	fmt.Fprintf(&b, "%s, %d skipped as ambiguous, %s, %s without their original\n",
		visible.Count(r.Articles, "article"), r.Skipped, visible.Count(r.Dead, "dead letter"),
		visible.Count(r.OriginalMissing, "copy"))
	if total.Copies > 0 {
		fmt.Fprintf(&b, "%d of %d copies caught (%s), %d with a wrong original\n",
			total.Caught, total.Copies, share(total.CaughtShare()), total.WrongOriginal)
		fmt.Fprintf(&b, "caught copies came %s after their originals (median), 90 %% within %s\n",
			seconds(r.Delay.Median), seconds(r.Delay.P90))
	}
	fmt.Fprintf(&b, "%d of %d %s %s (%s)\n", total.Dropped, total.Originals, words.Originals, words.Dropped,
		share(float64(total.Dropped)/float64(max(1, total.Originals))))
	b.WriteByte('\n')
	for _, part := range []struct {
		name   string
		counts map[string]figures.StreamCounts
		order  []string
	}{
		{"language", r.Languages, sortedKeys(r.Languages)},
		{"kind", r.Kinds, sortedKeys(r.Kinds)},
		{"publisher", r.Publishers, r.LargestPublishers()},
	} {
		t := newTable(part.name, "copies", "caught", "share", words.Originals, words.Dropped, "published", "wrong\noriginal",
			"possible")
		shown := part.order
		if part.name == "publisher" {
			shown = shown[:min(len(shown), MostListed)]
		}
		for _, name := range shown {
			c := part.counts[name]
			caught := "-"
			if c.Copies > 0 {
				caught = share(c.CaughtShare())
			}
			t.AppendRow(table.Row{rowName(name), c.Copies, c.Caught, caught, c.Originals, c.Dropped, c.Published,
				c.WrongOriginal, c.Possible})
		}
		if more := len(part.order) - len(shown); more > 0 {
			t.AppendFooter(table.Row{fmt.Sprintf("and %d smaller ones, see --json", more)})
		}
		fmt.Fprintf(&b, "%s\n\n", t.Render())
	}
	for _, list := range []struct {
		title   string
		repeats []figures.Repeat
	}{
		{strings.ToUpper(words.Originals[:1]) + words.Originals[1:] + " " + words.Dropped +
			", with the articles that they were judged to repeat:", r.Dropped},
		{"Copies caught with a wrong original:", r.Wrong},
		{"Copies missed, with the articles that they repeat or look like:", r.Missed},
	} {
		printRepeats(&b, list.title, list.repeats)
	}
	if total.Caught+total.Dropped > 0 {
		fmt.Fprintf(&b, "Articles judged copies, by the publishers of both:\n%s\n", joins(r.Joins))
	}
	var samples strings.Builder
	terminal := sidebyside.TerminalOf(w)
	for _, p := range r.Samples {
		fmt.Fprintf(&samples, "\npublishers %s: the right one is dropped as a copy of the left one\n", p.Publishers)
		writeBeside(&samples, terminal, p.Beside)
	}
	_, err := io.WriteString(w, command.Fit(b.String())+samples.String())
	return err
}

func joins(list []figures.Joins) string {
	t := newTable("publishers", "copies", "published", "dropped,\ntext equal", "dropped,\nedited")
	for _, j := range list {
		t.AppendRow(table.Row{j.Publishers, j.Copies, j.Published, j.Equal, j.Edited})
	}
	return t.Render()
}

func printRepeats(b *strings.Builder, title string, repeats []figures.Repeat) {
	if len(repeats) == 0 {
		return
	}
	t := newTable("bits", "test", "kind", "article, other article")
	for _, r := range repeats[:min(len(repeats), MostListed)] {
		bits := "-"
		if r.Distance >= 0 {
			bits = fmt.Sprint(r.Distance)
		}
		t.AppendRow(table.Row{bits, strings.ReplaceAll(testOf(r), ": ", ":\n"), rowName(r.Kind),
			both(named(r.ID, r.Title), named(r.OriginalID, r.OriginalTitle))})
	}
	if more := len(repeats) - MostListed; more > 0 {
		t.AppendFooter(table.Row{"", "", "", fmt.Sprintf("and %d more, see --json", more)})
	}
	fmt.Fprintf(b, "%s\n%s\n\n", title, t.Render())
}

// testOf returns the name of the test that decided.
func testOf(r figures.Repeat) string {
	if r.Possible {
		return "possible: " + r.Reason
	}
	return cmp.Or(r.Reason, "-")
}

func newTable(columns ...any) table.Writer { return command.NewTable(columns...) }

const (
	nameWidth = 14 // of a kind, a publisher or a language
	pairWidth = 34 // of an article in a list of pairs
)

// rowName returns the name of a row, on as many lines as its column needs.
func rowName(name string) string { return text.WrapHard(visible.Line(name), nameWidth) }

// both returns two articles, each in its line.
func both(a, b string) string {
	return text.Snip(a, pairWidth, "~") + "\n" + text.Snip(b, pairWidth, "~")
}

func share(x float64) string { return fmt.Sprintf("%.4f", x) }

// gauge returns a share as text, with a bar.
func gauge(x float64) string { return fmt.Sprintf("%.4f %-10s", x, strings.Repeat("#", int(x*10+0.5))) }

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// named returns the id of an article and the beginning of its title.
func named(id, title string) string {
	return text.Snip(visible.Line(id), pairWidth/2, "~") + " " + visible.Line(cmp.Or(title, "-"))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
