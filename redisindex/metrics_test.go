package redisindex

import (
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

func counted(c prometheus.Counter) int {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return int(m.GetCounter().GetValue())
}

func TestMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("`(echosieve_redisindex_[a-z_]+)`").FindAllStringSubmatch(string(doc), -1) {
		documented = append(documented, m[1])
	}
	reg := prometheus.NewRegistry()
	newMetrics(reg)
	families, err := reg.Gather()
	require.NoError(t, err)
	var registered []string
	for _, f := range families {
		registered = append(registered, f.GetName())
	}
	require.ElementsMatch(t, documented, registered)
}
