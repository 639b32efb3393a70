package redisindex

import (
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step has one name: that of its function. The metric and the trace have it in snake case, the crash point
// after it with hyphens.
func TestOneNameForEachStep(t *testing.T) {
	for i, step := range new(claim).steps() {
		_, name, _ := strings.Cut(runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name(), "(*claim).")
		name = strings.TrimSuffix(name, "-fm")
		words := strings.ToLower(regexp.MustCompile("[A-Z]").ReplaceAllString(name, "_$0"))
		require.Contains(t, stepLabels, words, name)
		require.EqualValues(t, "after-"+strings.ReplaceAll(words, "_", "-"), crashPoints[i], name)
	}
}
