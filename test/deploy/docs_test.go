package deploy_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/test/repo"
)

func TestOutputDocumentationNamesEveryHeader(t *testing.T) {
	doc := repo.Read(t, "docs/output.md")
	for _, header := range []string{
		pipeline.HeaderVerdict, pipeline.HeaderFingerprint, pipeline.HeaderDistance, pipeline.HeaderRelation,
		pipeline.HeaderSimilarity, pipeline.HeaderContained, pipeline.HeaderContains, pipeline.HeaderOriginalID,
		pipeline.HeaderOriginal, pipeline.HeaderRootID, pipeline.HeaderRoot, pipeline.HeaderInput,
		pipeline.HeaderRecipe, pipeline.HeaderLeftOut, pipeline.HeaderReason, pipeline.HeaderDetail,
		pipeline.HeaderValueOmitted, pipeline.HeaderTime,
		pipeline.HeaderShadow, pipeline.HeaderTraceparent,
	} {
		require.Contains(t, doc, "\n- `"+header+"`: ")
	}
}

// docs/output.md explains each reason of records_total, which the service exposes from its start.
func TestDocumentationNamesEveryReason(t *testing.T) {
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	reg := prometheus.NewRegistry()
	_, err = pipeline.New(pipeline.Config{}, recipe, nil, reg)
	require.NoError(t, err)
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
	output := repo.Read(t, "docs/output.md")
	for _, reason := range exposed {
		if reason != "none" && reason != "tombstone" { // no header has these values
			require.Contains(t, output, "\n- `"+reason+"`: ")
		}
	}
}

// The table of docs/output.md has a column for each member of a verdict in the value, of a type that holds it.
func TestTableHasEveryMember(t *testing.T) {
	statement := regexp.MustCompile(`(?s)echosieve Tuple\((.*)\)\n\) ENGINE`).FindSubmatch([]byte(repo.Read(t, "docs/output.md")))
	require.NotNil(t, statement)
	columns := map[string]string{}
	for _, c := range regexp.MustCompile(`(\w+) (\w+(?:\([^)]*\))?)`).FindAllStringSubmatch(string(statement[1]), -1) {
		columns[c[1]] = c[2]
	}
	types := map[string]string{"string": "String", "float64": "Float32", "*int": "Nullable(UInt8)",
		"*pipeline.MemberRef": "Tuple(id String, record String)"}
	want := map[string]string{}
	for f := range reflect.TypeFor[pipeline.Member]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if want[name] = types[f.Type.String()]; name == "detail" { // of dead letters
			delete(want, name)
		}
	}
	require.Equal(t, want, columns)
}
