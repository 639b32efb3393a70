package report

import (
	"io"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Versus writes the report of figures.Versus with its samples.
func Versus(w io.Writer, about About, r figures.VersusResult) error {
	return write(w, versusPage, r.Recipes[0]+" and "+r.Recipes[1], about, r)
}
