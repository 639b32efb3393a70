package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// redLimit is how long readiness may take to turn red. Probes come every 2 s and may take 5 s; what only writes can
	// notice shows when the next article comes, which an outage of the other server may delay.
	redLimit   = 2 * time.Minute
	greenLimit = 2 * time.Minute
	// quiet is how many warnings about one component a process may write during an outage: the change of its state, the
	// first failure of each operation, and once more when the first answers come. One a retry would be dozens.
	quiet = 12
)

// outage takes a server away for at least d and until every process that knows it to be up says that it is down, then
// brings it back and waits until they say so. Processes that end or freeze meanwhile are excused.
func (r *round) outage(ctx context.Context, component string, d time.Duration, begin func() (string, error), end func() error) (string, error) {
	return r.disturb(ctx, component, func(live []witness) (string, error) {
		start := time.Now()
		proof, err := begin()
		if err == nil {
			isDown := func(_ bool, up map[string]bool) bool { return !up[component] }
			for _, p := range r.awaitState(ctx, live, redLimit, isDown) {
				if !p.excused() {
					r.violate(unready, "%s is away for %.1fs and /readyz of %s does not say so", component, time.Since(start).Seconds(), p.name)
				}
			}
			red := time.Since(start)
			if err = r.checkMetric(ctx, live, component); err == nil {
				proof += fmt.Sprintf(", red after %.1fs", red.Seconds())
			}
			if wait := pause(ctx, d-time.Since(start)); wait != nil {
				err = wait
			}
		}
		err = errors.Join(err, end())
		return fmt.Sprintf("%s, away for %.1fs", proof, time.Since(start).Seconds()), err
	})
}

// disturb does something to a server that is up for every process, and waits until it is up for them again. None may
// write a warning for each retry meanwhile.
func (r *round) disturb(ctx context.Context, component string, do func([]witness) (string, error)) (string, error) {
	isUp := func(_ bool, up map[string]bool) bool { return up[component] }
	live := r.witnesses()
	if late := r.awaitState(ctx, live, readyTimeout, isUp); len(late) > 0 {
		r.violate(unready, "%s: %d processes are not ready before the outage", component, len(late))
	}
	warned := map[witness]int{}
	for _, p := range live {
		warned[p] = p.warnings(component)
	}
	proof, err := do(live)
	if err != nil {
		return "", err
	}
	back := time.Now()
	for _, p := range r.awaitState(ctx, live, greenLimit, isUp) {
		if !p.excused() {
			r.violate(unready, "%s is back and /readyz of %s does not say so", component, p.name)
		}
	}
	for _, p := range live {
		if n := p.warnings(component) - warned[p]; n > quiet {
			r.violate(noisy, "%s wrote %d warnings about %s while it was away", p.name, n, component)
		}
	}
	return fmt.Sprintf("%s, green %.1fs later", proof, time.Since(back).Seconds()), nil
}

// warnings counts the warnings about a component: its own and those of the package that talks to it.
func (p *process) warnings(component string) int {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	speaker := map[string]string{"redis": "index", "kafka": "consumer"}[component]
	return p.log.warnings[component] + p.log.warnings[speaker]
}

// checkMetric looks whether the gauge says what /readyz says. It waits: when a generation of the group ends, its failures are
// forgotten, and until the next attempt fails a process can say that Kafka is up.
func (r *round) checkMetric(ctx context.Context, procs []witness, component string) error {
	want := fmt.Sprintf("echosieve_connection_up{component=%q} 0\n", component)
	for _, p := range procs {
		for end := time.Now().Add(redLimit); !p.excused(); {
			text, err := p.metrics(ctx)
			if strings.Contains(text, want) || p.excused() {
				break
			}
			if time.Now().After(end) {
				if err != nil {
					return err
				}
				r.violate(unready, "%s is away and the metric of %s does not say so", component, p.name)
				break
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *process) metrics(ctx context.Context) (string, error) {
	p.log.mu.Lock()
	addr := p.log.http
	p.log.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}
