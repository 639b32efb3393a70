package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go does not say whether "return x, f(func() { x = 1 })" returns x as it was before the call or after it. No file has
// such a return.
func TestNoReturnRacesItsCall(t *testing.T) {
	const text = `package p
func f(func()) error
func racing() (x int, err error) { return x, f(func() { x = 1 }) }
func member() (err error, x struct{ n []int }) { return f(func() { x.n[0]++ }), x }
func fine() (x int, err error) { err = f(func() { x = 1 }); return x, err }
func other() (x int, err error) { return x, f(func() { x := 1; x++ }) }`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", text, 0)
	require.NoError(t, err)
	require.Equal(t, []int{3, 4}, racing(files, file))
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, path), nil, 0)
		if err == nil {
			require.Empty(t, racing(files, file), "%s: call first, then return", path)
		}
		return err
	}))
}

// racing returns the lines of returns one of whose values is set by a function that another one of them gets.
func racing(files *token.FileSet, file *ast.File) (lines []int) {
	ast.Inspect(file, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		for i, value := range r.Results {
			set := assigned(value)
			for j, other := range r.Results {
				if i != j && mentions(other, set) {
					lines = append(lines, files.Position(r.Pos()).Line)
				}
			}
		}
		return true
	})
	return lines
}

// assigned returns the variables that function literals in calls of an expression assign.
func assigned(value ast.Expr) map[any]bool {
	set := map[any]bool{}
	ast.Inspect(value, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, argument := range call.Args {
			f, ok := argument.(*ast.FuncLit)
			if !ok {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch s := n.(type) {
				case *ast.AssignStmt:
					for _, to := range s.Lhs {
						set[variable(to)] = true
					}
				case *ast.IncDecStmt:
					set[variable(s.X)] = true
				}
				return true
			})
		}
		return true
	})
	return set
}

// variable returns what x, x.y, x[i] and *x have in common; nil: it is declared in another file, or no variable.
func variable(e ast.Expr) any {
	for {
		switch of := e.(type) {
		case *ast.Ident:
			return of.Obj
		case *ast.SelectorExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.StarExpr:
			e = of.X
		case *ast.ParenExpr:
			e = of.X
		default:
			return nil
		}
	}
}

// mentions says whether an expression reads one of the variables, outside of function literals.
func mentions(e ast.Expr, set map[any]bool) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && set[id.Obj] {
			found = true
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}
