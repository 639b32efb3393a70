package mutant

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is a file that mutants change. Its text stays; what the mutants need is put in between.
type source struct {
	path, text string
	functions  []span
	bodies     []*body
	additions  []change
}

// span is the inside of a function's braces, or a whole script, as offsets in the text.
type span struct {
	from, to int
	results  bool // the function has results
}

// body is a span with the mistake of one mutant.
type body struct {
	mutant  string
	of      span
	changes []change
}

// change replaces the text between two offsets of the source.
type change struct {
	from, to int
	text     string
}

func open(path string) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, text: string(data)}
	if s.script() {
		s.functions = []span{{to: len(data)}}
		return s, nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.functions = append(s.functions, span{set.Position(f.Body.Lbrace).Offset + 1,
				set.Position(f.Body.Rbrace).Offset, f.Type.Results != nil})
		}
	}
	return s, nil
}

func packageOf(path string) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return parsed.Name.Name, nil
}

func (s *source) script() bool { return filepath.Ext(s.path) == ".lua" }

// edit gives the mutant its own body of the function that the edit changes.
func (s *source) edit(mutant, find, replace string) error {
	if n := strings.Count(s.text, find); n != 1 {
		return fmt.Errorf("occurs %d times", n)
	}
	c := change{strings.Index(s.text, find), strings.Index(s.text, find) + len(find), replace}
	for c.from < c.to && c.text != "" && c.text[0] == s.text[c.from] {
		c.from, c.text = c.from+1, c.text[1:]
	}
	for c.from < c.to && c.text != "" && c.text[len(c.text)-1] == s.text[c.to-1] {
		c.to, c.text = c.to-1, c.text[:len(c.text)-1]
	}
	i := slices.IndexFunc(s.functions, func(f span) bool { return f.from <= c.from && c.to <= f.to })
	switch {
	case i < 0 && c.from < c.to:
		return errors.New("is not inside a function, and its replacement does not only add to it")
	case i < 0:
		s.additions = append(s.additions, c)
		return nil
	}
	b := &body{mutant: mutant, of: s.functions[i]}
	if known := slices.IndexFunc(s.bodies, func(k *body) bool {
		return k.mutant == b.mutant &&
			k.of == b.of
	}); known >= 0 {
		b = s.bodies[known]
	} else {
		s.bodies = append(s.bodies, b)
	}
	b.changes = append(b.changes, c)
	return nil
}

// mistaken is the text with all mistakes in it.
func (s *source) mistaken() string {
	changes := slices.Clone(s.additions)
	for _, b := range s.bodies {
		end := ""
		if !b.of.results {
			end = "\nreturn\n"
		}
		changes = append(changes, change{b.of.from, b.of.from, fmt.Sprintf("\nif mutantOn == %q {%s%s}\n", b.mutant,
			s.changed(b.of, b.changes), end)})
	}
	return s.changed(span{to: len(s.text)}, changes)
}

// changed is the text of a span with changes.
func (s *source) changed(of span, changes []change) string {
	slices.SortStableFunc(changes, func(a, b change) int { return a.from - b.from })
	var text strings.Builder
	last := of.from
	for _, c := range changes {
		text.WriteString(s.text[last:c.from] + c.text)
		last = c.to
	}
	return text.String() + s.text[last:of.to]
}

// cases exchange the script. It is in a variable of the package in the folder.
func (s *source) cases(folder string) (string, error) {
	variable, err := embedded(folder, s.path)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, b := range s.bodies {
		fmt.Fprintf(&text, "	if on == %q {\n		%s = %q\n	}\n", b.mutant, variable, s.changed(b.of, b.changes))
	}
	return text.String(), nil
}

// embedded is the name of the variable that has the script.
func embedded(folder, script string) (string, error) {
	file, err := filepath.Rel(folder, script)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	pattern := regexp.MustCompile(`//go:embed ` + regexp.QuoteMeta(filepath.ToSlash(file)) + `\s+(?:var )?(\w+)`)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if m := pattern.FindSubmatch(text); m != nil {
			return string(m[1]), nil
		}
	}
	return "", errors.New("no variable has " + script)
}
