package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/recipe"
	"echosieve/test/host"
)

// docs/output.md has an item for each header that we add.
func TestOutputDocumentationNamesEveryHeader(t *testing.T) {
	doc := host.Read(t, "docs/output.md")
	for header, place := range host.Constants(t, "pipeline/output.go", "Header") {
		assert.Contains(t, doc, "\n- `"+header+"`: ", place)
	}
}

// docs/output.md explains each reason of records_total, which the service exposes from its start.
func TestDocumentationNamesEveryReason(t *testing.T) {
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	reg := prometheus.NewRegistry()
	pipeline.New(pipeline.Config{}, recipe, nil, reg)
	families, err := reg.Gather()
	require.NoError(t, err)
	var exposed []string
	for _, family := range families {
		if family.GetName() != "echosieve_pipeline_records_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" {
					exposed = append(exposed, l.GetValue())
				}
			}
		}
	}
	slices.Sort(exposed)
	exposed = slices.Compact(exposed)
	output := host.Read(t, "docs/output.md")
	for _, reason := range exposed {
		if reason != "none" && reason != "tombstone" { // no header has these values
			require.Contains(t, output, "\n- `"+reason+"`: ")
		}
	}
}

// The table of docs/output.md has a column for each member of a verdict in the value, of a type that holds it.
func TestTableHasEveryMember(t *testing.T) {
	statement := regexp.MustCompile(`(?s)echosieve Tuple\((.*)\)\n\) ENGINE`).FindStringSubmatch(
		host.Read(t, "docs/output.md"))
	require.NotNil(t, statement)
	columns := map[string]string{}
	for _, c := range regexp.MustCompile(`(\w+) (\w+(?:\([^)]*\))?)`).FindAllStringSubmatch(statement[1], -1) {
		columns[c[1]] = c[2]
	}
	types := map[string]string{"string": "String", "float64": "Float32", "*int": "Nullable(UInt8)",
		"*pipeline.MemberRef": "Tuple(id String, record String)"}
	want := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pipeline.Member]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if want[name] = types[f.Type.String()]; name == "detail" { // of dead letters
			delete(want, name)
		}
	}
	require.Equal(t, want, columns)
}

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// A path of this repository in backquotes, without a placeholder.
	mdPath = regexp.MustCompile(
		"`((?:cmd|consumer|deploy|docs|internal|pipeline|redisindex|sample|simhash|test)/[a-zA-Z0-9_./-]*)`")
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents returns the paths of all pages, from the root of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	pages := slices.Concat(host.Files(t, "*.md"), host.Files(t, "docs/*.md"), host.Files(t, "docs/zh/*.md"))
	require.Contains(t, pages, "README.md")
	return pages
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		found = append(found, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return found
}

// Links between pages lead to files and headings that exist, and so do the paths that pages name.
func TestLinks(t *testing.T) {
	for _, page := range documents(t) {
		text := host.Read(t, page)
		for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, hasAnchor := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			content, err := os.ReadFile(filepath.Join(host.Root(t), target))
			if !assert.NoError(t, err, "link %s of %s", m[1], page) || !hasAnchor {
				continue
			}
			assert.True(t, slices.Contains(anchors(string(content)), anchor),
				"%s links to %s, which has no such heading", page, m[1])
		}
		for _, m := range mdPath.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(host.Root(t), m[1]))
			assert.NoError(t, err, "path of %s", page)
		}
	}
}

var update = flag.Bool("update", false, "write the lists of docs/detection.md instead of comparing them")

// The lists of rows and needs in docs/detection.md are those of the code. With -update, the test writes them.
func TestRuleIsDocumented(t *testing.T) {
	text := host.Read(t, "docs/detection.md")
	var rows, needs strings.Builder
	for i, row := range evidence.Rows() {
		verdict := "different"
		if row.Kind != 0 {
			verdict = row.Kind.String()
		}
		turn := ""
		if row.Turn != "" {
			turn = "; " + row.Turn
		}
		rows.WriteString(wrapped(fmt.Sprintf("%d. %s%s: %s, `%s`%s. *%s.*", i+1, strings.ToUpper(row.When[:1]),
			row.When[1:], verdict, row.Reason, turn, row.Example)))
	}
	for _, need := range evidence.Needs() {
		setting := ""
		if need.Setting != "" {
			setting = fmt.Sprintf(" (`%s`)", strings.TrimPrefix(need.Setting, "detection."))
		}
		needs.WriteString(wrapped(fmt.Sprintf("- %.2f%s: %s", need.Default(), setting, need.With)))
	}
	for name, list := range map[string]string{"rows": rows.String(), "needs": needs.String()} {
		before, rest, found := strings.Cut(text, "<!-- "+name+" -->\n\n")
		_, after, closed := strings.Cut(rest, "\n<!-- end -->")
		require.True(t, found && closed, name)
		if want := before + "<!-- " + name + " -->\n\n" + list + "\n<!-- end -->" + after; *update {
			text = want
		} else {
			require.Equal(t, want, text, "go test ./test/docs -run TestRuleIsDocumented -update writes the list")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("../../docs/detection.md", []byte(text), 0o644))
	}
}

// wrapped returns the item of a list in lines of at most columns.
func wrapped(item string) string {
	words := strings.Fields(item)
	lines, line := "", words[0]
	for _, word := range words[1:] {
		if utf8.RuneCountInString(line+" "+word) > columns {
			lines, line = lines+line+"\n", strings.Repeat(" ", len(words[0]))
		}
		line += " " + word
	}
	return lines + line + "\n"
}

// README, near its top, names the two commands of a fresh machine with their durations.
func TestTheTwoCommands(t *testing.T) {
	top, _, found := strings.Cut(host.Read(t, "README.md"), "## What it catches")
	require.True(t, found)
	command := regexp.MustCompile("(?m)^\\| `make (\\S+)` \\| (\\w+ minutes)")
	printed := command.FindAllStringSubmatch(top, -1)
	require.Len(t, printed, 2)
	require.Equal(t, "demo", printed[0][1])
	require.Equal(t, "test", printed[1][1])
	duration := printed[1][2]

	makefile := host.Read(t, "Makefile")
	require.Regexp(t, `(?m)^demo:`, makefile)
	require.Regexp(t, `(?m)^test: .*## in `+duration+`\b`, makefile)
	require.Contains(t, host.Read(t, "CONTRIBUTING.md"), "| `make test` | "+duration)
	require.Regexp(t, `(?m)^echo "== test"; make test `, host.Read(t, ".ci/run"))
}
