package visible

import (
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Writer writes what commands print. Hidden characters become their numbers, except line ends, tabs and the
// colours of our own output. Safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest string // the beginning of a character that was cut between two calls
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// colour matches a sequence that sets the colour or weight of letters.
var colour = regexp.MustCompile(`^\x1b\[[0-9;]*m`)

// Write implements io.Writer. It returns the length of data, as the caller expects, not of what was written for it.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, rest := seen(w.rest + string(data))
	w.rest = rest
	if _, err := io.WriteString(w.out, text); err != nil {
		return 0, err
	}
	return len(data), nil
}

// seen returns lines of text in which nothing is hidden. rest is the beginning of a character at the end.
func seen(text string) (shown, rest string) {
	if isPlain(text, true) {
		return text, ""
	}
	var b strings.Builder
	i := 0
	for utf8.FullRuneInString(text[i:]) {
		r, size := utf8.DecodeRuneInString(text[i:])
		sequence := ""
		if r == '\x1b' {
			sequence = colour.FindString(text[i:])
		}
		switch {
		case sequence != "":
			b.WriteString(sequence)
			size = len(sequence)
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		default:
			write(&b, r)
		}
		i += size
	}
	return b.String(), text[i:]
}

// Terminal returns the terminal that a stream of a command is, also behind a Writer, and whether it is one.
// Text that is written to the file itself passes no filter: it must not come from strangers.
func Terminal(stream any) (*os.File, bool) {
	if w, ok := stream.(*Writer); ok {
		stream = w.out
	}
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Raw returns the stream behind a Writer for data that programs read, byte by byte as it is; the Writer
// itself if it leads to a terminal.
func Raw(stream io.Writer) io.Writer {
	w, ok := stream.(*Writer)
	if _, terminal := Terminal(stream); ok && !terminal {
		return w.out
	}
	return stream
}
