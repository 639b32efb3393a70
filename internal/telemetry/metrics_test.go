package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/stretchr/testify/require"
)

func TestSecondRegistrationIsAnError(t *testing.T) {
	reg := prometheus.NewRegistry()
	register := func(r prometheus.Registerer) error {
		s := NewSet(r)
		promauto.With(s).NewCounter(prometheus.CounterOpts{Name: "a_total", Help: "-"}).Inc()
		promauto.With(s).NewGaugeVec(prometheus.GaugeOpts{Name: "b", Help: "-"}, []string{"c"}).WithLabelValues(
			"d").Set(1)
		return s.Err()
	}
	require.NoError(t, register(reg))
	require.ErrorContains(t, register(reg), "duplicate metrics collector registration")
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 2)
	require.NoError(t, register(nil))
	require.NoError(t, register(nil), "without a registerer nothing collides")
}
