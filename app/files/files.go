// Package files reads the files that a user names on the command line: it opens them, reads their lines and
// shows how far reading has come. Its errors say what to name instead.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"echosieve/pipeline/decode"
)

// Contents that a command expects of a file. An error about another file names the expected content.
const (
	HoldsArticles = "articles: JSON Lines, a JSON list, CSV or TSV with a header, or WARC, plain, .gz or .zst"
	HoldsPairs    = "pairs, tab-separated lines: id_a id_b label kind"
	HoldsSettings = "settings: echosieve config reference prints one"
	HoldsText     = "text, or put the text itself in quotes"
)

// Check returns why a file that the user named cannot be read. holds is one of the constants above: an error tells the
// user to name such a file. It opens nothing, because opening a named pipe would take its content from the command that
// reads it later.
func Check(name, holds string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no such file: %s; name a file of %s", name, holds)
	case err != nil:
		return fmt.Errorf("%w; name a file of %s", err, holds)
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name the files in it, such as %s", name, filepath.Join(name, "*"))
	}
	return nil
}

// Named returns the files that a command reads articles of: those that the user named or, if he named none, standard
// input as "-". The error is that of Check, or says that nobody would type articles.
func Named(names []string, stdin io.Reader) ([]string, error) {
	if len(names) == 0 && OnTerminal(stdin) {
		return nil, errors.New("no file named, and standard input is a terminal; name files of " + HoldsArticles)
	}
	if len(names) == 0 {
		return []string{"-"}, nil
	}
	for _, name := range names {
		if name == "-" {
			continue
		}
		if err := Check(name, HoldsArticles); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// PublishesJSON returns an error if the service would refuse what a command publishes: articles of files and
// of the sample, as JSON objects.
func PublishesJSON(input decode.Config) error {
	if input.Format == decode.FormatJSON {
		return nil
	}
	return fmt.Errorf("articles are published as JSON, which a service with input.format %s does not read; "+
		"name a service and a topic with input.format json (--input.format json), or publish with your own producer",
		input.Format)
}

// NoArticleError is returned by NoArticle.
type NoArticleError struct{ text string }

func (e *NoArticleError) Error() string { return e.text }

// NoArticle returns a *NoArticleError: the files hold no line from which the service could make an article.
// why is the fault of the first line, or empty if there is no line.
func NoArticle(files []string, input decode.Config, why string) error {
	where := strings.Join(files, ", ")
	if len(files) == 0 || len(files) == 1 && files[0] == "-" {
		where = "standard input"
	}
	if why != "" {
		why = " (" + why + ")"
	}
	want := "a text on each line (input.format)"
	if input.Format == decode.FormatJSON {
		want = fmt.Sprintf("%s, with the text under %s (input.fields.text)", HoldsArticles,
			strings.Join(input.Fields.Text, ", "))
	}
	return &NoArticleError{fmt.Sprintf("there is no article in %s%s; expected are %s", where, why, want)}
}

// Size adds up the sizes of the files in bytes, as they are stored. It is -1 if one of them has no size:
// standard input, a pipe.
func Size(names []string) int64 {
	var total int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		total += info.Size()
	}
	return total
}
