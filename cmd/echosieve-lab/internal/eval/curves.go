package eval

import (
	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/evidence"
)

// curves counts with other values of the thresholds that people set. They change verdicts, and no fingerprint. Classic
// recipes have none.
func curves(cfg config.Config, count func(config.Config) (*figures.Tally, error)) (list []figures.Curve, err error) {
	if cfg.IndexConfig("recipe").Check == nil {
		return nil, nil
	}
	for _, s := range []struct {
		name string
		of   func(*evidence.Thresholds) *float64
	}{
		{"near", func(t *evidence.Thresholds) *float64 { return &t.Near }},
		{"short_near", func(t *evidence.Thresholds) *float64 { return &t.ShortNear }},
		{"values", func(t *evidence.Thresholds) *float64 { return &t.Values }},
	} {
		c, err := figures.NewCurve(s.name, *s.of(&cfg.Detection.Thresholds), func(value float64) (*figures.Tally, error) {
			changed := cfg
			*s.of(&changed.Detection.Thresholds) = value
			if changed.Detection.Thresholds.Validate() != nil {
				return nil, nil //nolint:nilnil,nilerr // the service would refuse the value
			}
			return count(changed)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
