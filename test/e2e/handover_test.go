package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// echosieve runs a command with the settings in its environment, which must succeed, and returns what it prints.
func echosieve(t *testing.T, s service.Settings, args ...string) string {
	t.Helper()
	cmd := exec.Command(service.Binary, args...)
	cmd.Env = s.Environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// silent waits until the service is ready without warnings.
func silent(t *testing.T, p *service.Process) {
	t.Helper()
	require.Eventually(t, func() bool {
		page := p.Get("/readyz")
		return strings.HasPrefix(page, "200") && !strings.Contains(page, "warnings")
	}, service.Patience, 50*time.Millisecond)
}

// recent gives the records timestamps of the last hours, because a refill reads the window before now.
func recent(records []*kgo.Record) []*kgo.Record {
	for i, r := range records {
		r.Timestamp = time.Now().Add(time.Duration(i-len(records)) * time.Second)
	}
	return records
}

// byVerdict returns, for each input record, the headers of its first output.
func byVerdict(outputs []*kgo.Record) map[string]map[string]string {
	first := map[string]map[string]string{}
	for _, r := range outputs {
		h := ledger.Headers(r)
		if _, known := first[h[pipeline.HeaderInput]]; !known {
			first[h[pipeline.HeaderInput]] = h
		}
	}
	return first
}

// waitCommitted waits until the group has committed so many records.
func waitCommitted(t *testing.T, c cluster, records int) {
	t.Helper()
	admin := kadm.NewClient(kafkaserver.Client(t, c.kafka))
	require.Eventually(t, func() bool {
		offsets, err := admin.FetchOffsets(t.Context(), c.topic)
		committed := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { committed += max(0, o.At) })
		return err == nil && committed == int64(records)
	}, service.Patience, 100*time.Millisecond)
}

// caught publishes exact copies of the records that passed as unique, and requires that each gets the verdict
// of a copy. so many records have verdicts already. It returns the number of copies.
func caught(t *testing.T, c cluster, before map[string]map[string]string, records []*kgo.Record, verdicts int) int {
	t.Helper()
	var copies []*kgo.Record
	for _, r := range records {
		if h := before[ledger.Coordinates(r)]; h[pipeline.HeaderVerdict] == "unique" && h[pipeline.HeaderRoot] != "" {
			again := *r
			again.Timestamp = time.Now()
			copies = append(copies, &again)
		}
	}
	require.NotEmpty(t, copies)
	inputs := publish(t, c, copies)
	after := byVerdict(watch(t, c, verdicts+len(copies), func(int) {}))
	for at := range inputs {
		require.Equal(t, "exact", after[at][pipeline.HeaderVerdict], "%s is a copy of an earlier article", at)
	}
	return len(copies)
}

// TestPageOfRecipeChange follows steps 3 to 5 of docs/recipe-change.md word for word, while articles come in. A process
// of the other recipe waits in sight. Copies of articles from before the fill, from between the fill and the stop,
// and from while nobody ran are caught, and so they are after the way back.
func TestPageOfRecipeChange(t *testing.T) {
	page := host.Read(t, "docs/recipe-change.md")
	steps := host.Between(t, page, "\n## 3. Fill the new index\n", "\n## 5. Back\n")
	commands := regexp.MustCompile(`(?m)^ {4,}echosieve (.*)$`).FindAllStringSubmatch(steps, -1)
	require.Len(t, commands, 2)

	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Start(t).Addr)
	settings := c.settings().With(service.Settings{"output.verdict": "value"}) // a refill reads such values
	file := filepath.Join(t.TempDir(), "new.yaml")
	require.NoError(t, os.WriteFile(file, []byte("detection: {near: 0.5}\nwindow: 48h\n"), 0o600))
	newSettings := settings.With(nil)
	delete(newSettings, "window") // the environment would win over the file
	arguments := func(i int) []string { return strings.Fields(strings.Replace(commands[i][1], "new.yaml", file, 1)) }
	startNew := func() *service.Process {
		return service.Start(t, newSettings, func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, arguments(1)[1:]...) })
	}
	_, records := written(t, 1000)
	records = recent(records[:1000])
	old := service.Start(t, settings).WaitReady(t)
	publish(t, c, records[:300])
	watch(t, c, 300, func(int) {})
	waitCommitted(t, c, 300)
	echosieve(t, newSettings, arguments(0)...) // 3. Fill
	publish(t, c, records[300:600])            // the old processes decide these
	before := byVerdict(watch(t, c, 600, func(int) {}))
	p := startNew()
	waits(t, p)
	require.True(t, old.Ready())
	stop(t, old)
	publish(t, c, records[600:900])
	p.WaitReady(t)
	waiting := byVerdict(watch(t, c, 900, func(int) {}))
	for at, h := range before {
		require.Equal(t, h, waiting[at], "published verdicts stay")
	}
	require.Contains(t, p.Log(), "this index has what another one had decided")
	silent(t, p)
	decided := 900 + caught(t, c, waiting, records[:900], 900)
	silent(t, p)
	require.NotContains(t, p.Log(), "another index (")

	old = service.Start(t, settings) // 5. Back
	waits(t, old)
	publish(t, c, records[900:])
	all := byVerdict(watch(t, c, decided+100, func(int) {}))
	stop(t, p)
	old.WaitReady(t)
	silent(t, old)
	caught(t, c, all, records[600:], decided+100)
	stop(t, old)
}

// waits waits until a process says that another recipe decides in its group.
func waits(t *testing.T, p *service.Process) {
	t.Helper()
	p.Await(t, "/readyz", "503", "another recipe or layout decides in group")
	require.NotContains(t, p.Log(), "joined group generation")
}
