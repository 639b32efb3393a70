package release

// The steps, for tests.
const (
	StepMarked    = stepMarked
	StepPublished = stepPublished
)

// OnPassed calls fn after each step.
func (r *Releaser) OnPassed(fn func(step string) error) { r.passed = fn }
