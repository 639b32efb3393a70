package limits

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// most is how many numbers may decide a verdict. A new one takes the place of one that pays less by eval ablate.
const (
	most         = 40
	mostSettings = 4
	mostInRule   = 13
)

// Each number says what chose it, and there are few.
func TestFewNumbers(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "limits.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var groups []int
	var names []string
	all := 0
	for _, decl := range file.Decls {
		consts := decl.(*ast.GenDecl)
		reason := ""
		for _, spec := range consts.Specs {
			value := spec.(*ast.ValueSpec)
			require.Len(t, value.Names, 1)
			names = append(names, value.Names[0].Name)
			if doc := value.Doc.Text(); doc != "" {
				reason = doc
			}
			require.Regexp(t, `Chosen\s+on\s+(labelled\s+pairs|languages)|Reason:\s`, reason, value.Names[0].Name)
		}
		groups = append(groups, len(consts.Specs))
		all += len(consts.Specs)
	}
	require.Equal(t, mostSettings, groups[0])
	require.LessOrEqual(t, groups[1], mostInRule)
	require.LessOrEqual(t, all, most)
	require.Equal(t, names, namesInAll(t),
		"All must have each number, in order: else a change of it leaves the recipe's id as it is")
}

// namesInAll returns the names in the list that All returns.
func namesInAll(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "all.go", nil, 0)
	require.NoError(t, err)
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				names = append(names, e.(*ast.Ident).Name)
			}
		}
		return true
	})
	require.Len(t, All(), len(names))
	return names
}

// decideNothing are the numbers in the rooms that decide no verdict, by what they are.
var decideNothing = map[string][]string{
	"layout of a signature, and the chance that two of its samples are equal": {
		"evidence: Version = 11", "evidence: flashVersion = 12", "evidence: Size = 82", "evidence: contextAt = 32",
		"evidence: valueAt = 48", "evidence: bitmapAt = 56", "evidence: leadAt = 62", "evidence: mainAt = 69",
		"evidence: timesAt = 77", "evidence: publisherAt = 80", "evidence: addressAt = 81",
		"evidence: minSlots = 120", "evidence: numberSlots = 16",
		"evidence: bodySlots = 13", "evidence: bitmapBits = 48", "evidence: bodyBits = 40", "evidence: leadSlots = 8",
		"evidence: pairBits = 288", "evidence: wordBits = 96",
		"evidence: filterByte: bit/8", "evidence: Compare: i%2*4", "evidence: lead: 7 * n",
		"evidence: sampleLead: 7 * i", "evidence: AddMainWord: 3 * b.mains", "evidence: put: slot % 2 * 4",
		"evidence: bigrams: float64(s.raw[countAt])/16",
		"evidence: logCount: min(255, math.Round(16*math.Log2(float64(n+1))))",
		"evidence: logCount: 16*math.Log2(float64(n+1))", "evidence: jaccard: (float64(equal)/minSlots-0.25)/0.75",
		"evidence: leadShare: (float64(equal)/float64(samples)-0.25)/0.75",
	},
	"look-ups: which candidates are found": {
		"evidence: MaxAnchors = 8", "evidence: anchorNumbers = 3", "evidence: beginningWords = 80",
		"evidence: addNumber: n.value >= 10", "evidence: Add: n >= 3", "evidence: Add: n == 3",
		"recipe: maxBlocks = 16", "recipe: maxMaxDistance = 32",
	},
	"bounds of work and memory": {
		"evidence: maxNumbers = 4096", "text: maxMarkupPasses = 3",
		"page: maxTags = 40_000", "page: maxJSONDepth = 5", "text: AppendClean: 3*len(text)",
		"page: workShare = 16", "page: elementWork = 8", "page: headingWork = 32", "page: maxAttributes = 64",
		"page: maxAttributeBytes = 512", "page: tagShare = 24", "page: maxOpen = 512", "page: maxTagName = 32",
		"page: maxItems = 8", "page: maxWindows = 4",
		"text: maxTagName = 32", "recipe: release: 16*maxScratch", "text: newFunctionWords: len(words)*3",
	},
	"how numbers and characters are written": {
		"text: isSingle: len(word) == 3", "text: scriptOf: len(s) >= 3", "text: readMojibake: len(s) < 3",
		"text: endOfSpaced: size == 3",

		"evidence: digits: value*10", "evidence: numeralRun: digit*10", "evidence: numeralRun: unit < 10000",
	},
	"files of users, the learner of tables, metrics, documentation": {
		"text: segmentWords: len(fields) == 3", "text: ReadUserWords: len(fields) > 3",
		"text: ReadUserWords: len(fields) == 3", "page: ReadBoilerplate: len(fields) == 4", "page: minLearned = 12",
		"page: manyPublishers = 3", "page: Add: c.articles == 3", "page: forget: l.most/4*3",
		"page: forget: l.most/4", "page: Sentences: 64 * math.Log(64/float64(free))",
		"page: Sentences: 64/float64(free)", "text: scriptSample = 2000", "evidence: percent: 100*share",
		"text: MainScript: letters[article.Kana]*10",
	},
	"masks and versions": {"page: measure: len(rest) >= 8", "recipe: newsVersion = 9"},
}

// TestNumbersStandHere finds numbers in the packages that make and judge articles, outside this package:
// constants, and numbers with which something is compared, counted or weighed. Character codes (written as
// such or in hexadecimal), sizes and indexes of slices and 0, 1 and 2 are none. A number that decides a
// verdict belongs into limits.go; another one into decideNothing.
func TestNumbersStandHere(t *testing.T) {
	unused := map[string]bool{}
	for _, list := range decideNothing {
		for _, name := range list {
			unused[name] = true
		}
	}
	known := maps.Clone(unused)
	for _, room := range []string{"text", "page", "evidence", "recipe"} {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, found := range numbersIn(t, string(source)) {
				if found = room + ": " + found; !known[found] {
					t.Errorf("%s\n\tput it into limits.go, or into decideNothing", found)
				}
				delete(unused, found)
			}
		}
	}
	require.Empty(t, unused, "numbers of decideNothing that are gone")
}

// decides holds the operators by which a number can decide something: comparisons, and what weighs.
var decides = map[token.Token]bool{
	token.LSS: true, token.LEQ: true, token.GTR: true, token.GEQ: true, token.EQL: true, token.NEQ: true,
	token.MUL: true, token.QUO: true,
}

// numbersIn returns the constants and expressions of a source file that hold numbers which may decide something.
func numbersIn(t *testing.T, source string) []string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, 0)
	require.NoError(t, err)
	text := func(n ast.Node) string {
		return source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]
	}
	var found []string
	for _, decl := range file.Decls {
		function := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			function = f.Name.Name + ": "
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if isNumber(value) {
						found = append(found, fmt.Sprintf("%s%s = %s", function, n.Names[i].Name, text(value)))
					}
				}
			case *ast.BinaryExpr:
				if decides[n.Op] && (isNumber(n.X) || isNumber(n.Y)) {
					found = append(found, function+text(n))
				}
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "min" || name.Name == "max") {
					for _, arg := range n.Args {
						if isNumber(arg) {
							found = append(found, function+text(n))
						}
					}
				}
			case *ast.IndexExpr, *ast.SliceExpr, *ast.ArrayType:
				return false
			}
			return true
		})
	}
	return found
}

// isNumber tells whether an expression is a decimal number other than 0, 1 and 2.
func isNumber(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.INT && literal.Kind != token.FLOAT || strings.HasPrefix(literal.Value, "0x") {
		return false
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(literal.Value, "_", ""), 64)
	return err != nil || value != 0 && value != 1 && value != 2
}
