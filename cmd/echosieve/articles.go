package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
)

// What files hold, for people who name another.
const (
	holdsArticles = "articles, one JSON object a line, plain, .gz or .zst"
	holdsPairs    = "pairs, tab-separated lines: id_a id_b label kind"
	holdsSettings = "settings: echosieve config reference prints one"
	holdsText     = "text, or put the text itself in quotes"
)

// openFile opens a file that the user named. An error says what should have been named.
func openFile(name, holds string) (*os.File, error) {
	if err := checkFile(name, holds); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file of %s that can be read", err, holds)
	}
	return f, nil
}

// checkFile finds out what opening the file would say, without reading from a pipe.
func checkFile(name, holds string) error {
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

// noArticleError is the error of errNoArticle.
type noArticleError struct{ text string }

func (e *noArticleError) Error() string { return e.text }

// errNoArticle says that files hold nothing that the service could judge, and what was expected. The first line that is
// none, if there is one, says why.
func errNoArticle(files []string, input pipeline.DecodeConfig, first string) error {
	where := strings.Join(files, ", ")
	if len(files) == 0 || len(files) == 1 && files[0] == "-" {
		where = "standard input"
	}
	if first != "" {
		first = " (" + first + ")"
	}
	want := "a text on each line (input.format)"
	if input.Format == pipeline.FormatJSON {
		want = fmt.Sprintf("one JSON object a line with its text under %s (input.fields.text)", strings.Join(input.Fields.Text, ", "))
	}
	return &noArticleError{fmt.Sprintf("there is no article in %s%s; expected is %s", where, first, want)}
}

// isArticle says whether the service would give the record a verdict, and if not, why.
func isArticle(cfg Config, recipe *recipe.Recipe, r *pipeline.Record) (ok bool, fault string) {
	doc, reject := cfg.Input.Decode(r)
	if reject != nil {
		return false, reject.Error()
	}
	if a, _ := recipe.Fingerprint(doc.Text); a.Empty {
		return false, string(pipeline.EmptyText)
	}
	return true, ""
}

// loadRecipe loads the dictionaries of the configuration.
func loadRecipe(cfg Config) (*recipe.Recipe, error) {
	recipe, err := recipe.Load(cfg.recipe())
	if err != nil {
		return nil, fmt.Errorf("%w; correct detection.user_dictionary or detection.stop_words", err)
	}
	return recipe, nil
}
