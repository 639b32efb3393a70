package limits

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
		consts, ok := decl.(*ast.GenDecl)
		if !ok { // All
			continue
		}
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
	file, err := parser.ParseFile(token.NewFileSet(), "limits.go", nil, 0)
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

// elsewhere is how many numbers the rooms hold that decide no verdict: layouts of bytes, bounds of work and memory, how
// characters are written, files of users.
var elsewhere = map[string]int{"text": 15, "page": 14, "evidence": 43, "recipe": 4}

// TestNumbersStandHere finds numbers in the packages that make and judge articles, outside this package:
// constants, and numbers with which something is compared, counted or weighed. Character codes (written as
// such or in hexadecimal), sizes and indexes of slices and 0, 1 and 2 are none. A number that decides a
// verdict belongs into limits.go; only for another one the count of its room may rise.
func TestNumbersStandHere(t *testing.T) {
	for room, most := range elsewhere {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		require.NoError(t, err)
		var found []string
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				source, err := os.ReadFile(name)
				require.NoError(t, err)
				found = append(found, numbersIn(t, string(source))...)
			}
		}
		assert.Len(t, found, most, room)
	}
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
