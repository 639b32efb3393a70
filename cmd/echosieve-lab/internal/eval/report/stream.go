package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Stream returns the report of figures.Stream.
func Stream(r figures.StreamResult, onPage bool) Report {
	total, words := r.Total(), r.Words()
	out := Report{Title: "Stream", Lead: []string{fmt.Sprintf("%s, %d skipped as ambiguous, %s, %s without their original",
		visible.Count(r.Articles, "article"), r.Skipped, visible.Count(r.Dead, "dead letter"),
		visible.Count(r.OriginalMissing, "copy"))}}
	if total.Copies > 0 {
		out.Lead = append(out.Lead,
			fmt.Sprintf("%d of %d copies caught (%s), %d with a wrong original", total.Caught, total.Copies,
				share(total.CaughtShare()), total.WrongOriginal),
			fmt.Sprintf("caught copies came %s after their originals (median), 90 %% within %s", seconds(r.Delay.Median),
				seconds(r.Delay.P90)))
	}
	out.Lead = append(out.Lead, fmt.Sprintf("%d of %d %s %s (%s)", total.Dropped, total.Originals, words.Originals,
		words.Dropped, share(float64(total.Dropped)/float64(max(1, total.Originals)))))

	kinds := &bars{Title: "share of copies caught"}
	for _, name := range sortedKeys(r.Kinds) {
		if c := r.Kinds[name]; c.Copies > 0 {
			kinds.add(name, "good", c.CaughtShare(), nil, c.Copies)
		}
	}
	gaps := &bars{Title: "share of copies caught"}
	for _, gap := range r.Gaps {
		if gap.Copies > 0 {
			gaps.add(gap.From+" and later", "plain", float64(gap.Caught)/float64(gap.Copies), nil, gap.Copies)
		}
	}
	out.add(section{Title: "By language", Table: counts("language", r.Languages, sortedKeys(r.Languages), words, onPage)})
	out.add(section{Title: "By kind", Bars: kinds, Table: counts("kind", r.Kinds, sortedKeys(r.Kinds), words, true)})
	out.add(section{Title: "By time since the original", Bars: gaps})
	out.add(section{Title: "By publisher",
		Table: counts("publisher", r.Publishers, r.LargestPublishers(), words, onPage)})
	out.curves(r.Curves, "share caught", "originals dropped")
	out.add(section{Title: strings.ToUpper(words.Originals[:1]) + words.Originals[1:] + " " + words.Dropped +
		", with the articles that they were judged to repeat", Table: repeats(r.Dropped, onPage)})
	out.add(section{Title: "Copies caught with a wrong original", Table: repeats(r.Wrong, onPage)})
	out.add(section{Title: "Copies missed, with the articles that they repeat or look like",
		Table: repeats(r.Missed, onPage)})
	if total.Caught+total.Dropped > 0 {
		out.add(section{Title: "Articles judged copies, by the publishers of both", Table: joins(r.Joins)})
	}
	for _, p := range r.Samples {
		out.Pairs = append(out.Pairs, pair{"publishers " + p.Publishers +
			": the right one is dropped as a copy of the left one", p.Beside})
	}
	return out
}

// counts has a row for each name, as far as the list goes.
func counts(of string, all map[string]figures.StreamCounts, names []string, words figures.Words,
	onPage bool) table.Writer {
	t := newTable(of, "copies", "caught", "share", words.Originals, words.Dropped, "pub-\nlished", "wrong\norig.",
		"pos-\nsible")
	for _, name := range names[:min(len(names), most(onPage))] {
		c := all[name]
		caught := "-"
		if c.Copies > 0 {
			caught = share(c.CaughtShare())
		}
		t.AppendRow(table.Row{visible.Line(name), c.Copies, c.Caught, caught, c.Originals, c.Dropped, c.Published,
			c.WrongOriginal, c.Possible})
	}
	more(t, len(names))
	return t
}

func joins(list []figures.Joins) table.Writer {
	t := newTable("publishers", "copies", "published", "dropped,\ntext equal", "dropped,\nedited")
	for _, j := range list {
		t.AppendRow(table.Row{j.Publishers, j.Copies, j.Published, j.Equal, j.Edited})
	}
	return t
}

func repeats(list []figures.Repeat, onPage bool) table.Writer {
	t := newTable("bits", "test", "kind", "articles")
	for _, r := range list[:min(len(list), most(onPage))] {
		bits, test := "-", cmp.Or(r.Reason, "-")
		if r.Distance >= 0 {
			bits = fmt.Sprint(r.Distance)
		}
		if r.Possible {
			test = "possible:\n" + r.Reason
		}
		t.AppendRow(table.Row{bits, test, visible.Line(r.Kind),
			named(r.ID, r.Title) + "\n" + named(r.OriginalID, r.OriginalTitle)})
	}
	more(t, len(list))
	return t
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
