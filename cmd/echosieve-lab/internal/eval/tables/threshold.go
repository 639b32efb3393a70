package tables

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
	"echosieve/internal/app/visible"
)

// Threshold writes how many articles each limit would flag, and the sampled pairs side by side.
func Threshold(w io.Writer, r figures.ThresholdResult) error {
	var b strings.Builder
	b.WriteString(command.Fit(
		fmt.Sprintf("%s: %d have the same text as an earlier one, %d are too short for anything else\n",
			command.Count(r.Docs, "article"), r.Exact, r.LittleText)))
	t := newTable(r.Scale, "flagged here first", "flagged in all", "share")
	for _, l := range r.Limits {
		mark := ""
		if l.Limit == r.Current {
			mark = "  <- now"
		}
		t.AppendRow(table.Row{l.Limit + mark, l.Pairs, l.Flagged, gauge(l.Share)})
	}
	fmt.Fprintf(&b, "%s\n", t.Render())
	for i, p := range r.Samples {
		fmt.Fprintf(&b, "\nPair %d of %d: flagged from %s %s on\n", i+1, len(r.Samples), r.Scale, p.Limit)
		sideBySide(w, &b, p.Earlier, p.Later)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sideBySide adds two articles, as wide as the terminal w allows.
func sideBySide(w io.Writer, b *strings.Builder, earlier, later figures.Side) {
	half, mark := (command.Columns-2)/2, [2]string{"[", "]"}
	if terminal, ok := visible.Terminal(w); ok {
		if os.Getenv("NO_COLOR") == "" {
			mark = [2]string{text.Colors{text.Bold, text.FgYellow}.EscapeSeq(), text.EscapeReset}
		}
		if columns, _, err := term.GetSize(int(terminal.Fd())); err == nil {
			half = max(20, (columns-2)/2)
		}
	}
	sides := newTable(wrapped(half, mark, head(earlier)...), wrapped(half, mark, head(later)...))
	sides.SetColumnConfigs([]table.ColumnConfig{{Number: 1, WidthMin: half}, {Number: 2, WidthMin: half}})
	sides.AppendRow(table.Row{wrapped(half, mark, earlier.Text...), wrapped(half, mark, later.Text...)})
	b.WriteString(sides.Render() + "\n")
}

// head returns the line above a text.
func head(s figures.Side) []figures.Piece { return []figures.Piece{{Text: named(s.ID, s.Title)}} }

// wrapped breaks the pieces into lines of a width, and puts mark before and behind text that the other
// article does not have. Marks are closed at the end of each line: a colour that stays on would run into the
// next column.
func wrapped(width int, mark [2]string, pieces ...figures.Piece) string {
	opening, closing := text.StringWidthWithoutEscSequences(mark[0]), text.StringWidthWithoutEscSequences(mark[1])
	var b strings.Builder
	column, open := 0, false
	end := func() {
		if open {
			b.WriteString(mark[1])
			column, open = column+closing, false
		}
	}
	for _, p := range pieces {
		for _, r := range visible.Line(p.Text) {
			need := text.RuneWidth(r)
			if p.Differs && !open {
				need += opening
			}
			if p.Differs {
				need += closing
			}
			if column+need > width {
				end()
				b.WriteByte('\n')
				column = 0
			}
			if p.Differs && !open {
				b.WriteString(mark[0])
				column, open = column+opening, true
			}
			b.WriteRune(r)
			column += text.RuneWidth(r)
		}
		end()
	}
	return b.String()
}
