package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// A mark never crosses a line, and no line is wider than its column.
func TestWrapped(t *testing.T) {
	pieces := []figures.Piece{{Text: "abcdefgh"}, {Text: "中文中文中文", Differs: true}, {Text: "xyz"}}
	got := wrapped(10, [2]string{"[", "]"}, pieces...)
	require.Equal(t, "abcdefgh\n[中文中文]\n[中文]xyz", got)
	require.Equal(t, "abcdefghij\nklm", wrapped(10, [2]string{"[", "]"}, figures.Piece{Text: "abcdefghijklm"}))
}
