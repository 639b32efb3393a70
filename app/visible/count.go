package visible

import (
	"fmt"
	"strings"
)

// Count is a number with its unit: "1 copy", "2 copies", "0 bits".
func Count[N int | int32 | int64 | uint64](n N, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	if stem, ok := strings.CutSuffix(unit, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
