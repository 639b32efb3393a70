// Package mutant puts many mistakes into one program. Each is one mutant: the environment variable
// ECHOSIEVE_TEST_MUTANT names the one that the program makes. To build a program for each would take minutes.
// test/mutants and test/torture have the mistakes.
//
// A function that a mutant changes gets a second body, behind a question for the mutant's name. A script in
// Lua is exchanged when the program starts. Outside of functions an edit may only add text; all mutants have
// that text.
package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Variable is the environment variable that names the mutant.
const Variable = "ECHOSIEVE_TEST_MUTANT"

// Mutant is a mistake.
type Mutant struct {
	Name  string
	Edits []Edit
}

// Edit is a file, whose path starts from a folder that all mutants of a program share, a text in it that
// occurs exactly once, and the text that replaces it.
type Edit [3]string

// Overlay writes the sources with the mistakes of all mutants into the folder dir, and an overlay for the go
// command, whose path it returns. The paths of the mutants start from root.
func Overlay(root, dir string, mutants []Mutant) (string, error) {
	texts, err := sources(root, mutants)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	// the same files at each run, so that the go command knows them
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(texts[path]), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// sources returns the sources with all mistakes in them, by their paths, and for each of their packages the
// file that reads the variable.
func sources(root string, mutants []Mutant) (map[string]string, error) {
	read := map[string]*source{}
	for _, m := range mutants {
		for _, e := range m.Edits {
			path := filepath.Join(root, e[0])
			if read[path] == nil {
				s, err := open(path)
				if err != nil {
					return nil, err
				}
				read[path] = s
			}
			if err := read[path].edit(m.Name, e[1], e[2]); err != nil {
				return nil, fmt.Errorf("mutant %s: %q in %s %w", m.Name, e[1], e[0], err)
			}
		}
	}
	texts, switches := map[string]string{}, map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(read)) {
		s, folder := read[path], filepath.Dir(path)
		if s.script() {
			folder = filepath.Dir(folder)
			cases, err := s.cases(folder)
			if err != nil {
				return nil, err
			}
			switches[folder] += cases
			continue
		}
		texts[path] = s.mistaken()
		switches[folder] += ""
	}
	for folder, cases := range switches {
		text, err := choice(folder, cases)
		if err != nil {
			return nil, err
		}
		// Go initializes variables in the order of the files' names: scripts must be exchanged before others
		// are made of them.
		texts[filepath.Join(folder, "0mutants.go")] = text
	}
	return texts, nil
}

// choice is the file of a package that reads the variable. cases exchange scripts.
func choice(folder, cases string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		name, err := packageOf(file)
		return fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutantOn = func() string {\n	on := "+
			"os.Getenv(%q)\n%s	return on\n}()\n",
			name, Variable, cases), err
	}
	return "", errors.New("no package in " + folder)
}

// Changed returns the files, by their whole paths, that differ from the commit where the branch main was
// left. dir is in the checkout. Without git, or without that branch, it returns none.
func Changed(ctx context.Context, dir string) map[string]bool {
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	changed := map[string]bool{}
	top := git("rev-parse", "--show-toplevel")
	for _, main := range []string{"origin/main", "main"} {
		base := git("merge-base", "HEAD", main)
		if base == "" {
			continue
		}
		for file := range strings.Lines(git("diff", "--name-only", base)) {
			changed[filepath.Join(top, strings.TrimSpace(file))] = true
		}
	}
	return changed
}
