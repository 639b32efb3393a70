package filter

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"echosieve/pipeline/memindex"
)

// sourceRun is the run in which a file is read. Its number is part of the articles' coordinates.
//
// A run that did not reach the end of its input, because it was interrupted or killed, is taken up by the
// next run that reads the file: the same line with the same text is then the same record, and gets the same
// verdict again. After a whole run, the file is read under a new number: what it still holds is a copy. So
// nobody needs to know which lines were written before a crash, and what a feed repeats is found.
type sourceRun struct {
	number  int32
	started time.Time // stands for the time of articles that have none
	ended   bool
}

const (
	runKey  = "source " // before the name of the file
	runForm = "%d %d %t"
)

// beginRuns returns the runs of files, and keeps them in the index.
func beginRuns(x *memindex.Index, sources []string, now time.Time) (map[string]sourceRun, error) {
	runs := map[string]sourceRun{}
	for _, name := range sources {
		r := sourceRun{number: 1, started: now}
		if note, kept := x.Note(runKey + name); kept {
			var last sourceRun
			var ms int64
			if _, err := fmt.Sscanf(note, runForm, &last.number, &ms, &last.ended); err != nil {
				return nil, fmt.Errorf("--state: the run of %s: %w", name, err)
			}
			if r.number, r.started = last.number, time.UnixMilli(ms); last.ended {
				r = sourceRun{number: last.number + 1, started: now}
			}
		}
		runs[name] = r
		x.SetNote(runKey+name, fmt.Sprintf(runForm, r.number, r.started.UnixMilli(), false))
	}
	return runs, nil
}

// endRuns keeps in the index that the runs are over and all their lines written.
func endRuns(x *memindex.Index, runs map[string]sourceRun) error {
	for name, r := range runs {
		x.SetNote(runKey+name, fmt.Sprintf(runForm, r.number, r.started.UnixMilli(), true))
	}
	return x.Sync()
}

// garbage is the memory that may wait for the garbage collector beside what a run holds, in bytes.
const garbage = 90 << 20

// collect makes the garbage collector run before the process takes more memory than what the run holds and garbage.
// GOMEMLIMIT takes its place.
func (r *run) collect() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(garbage + r.index.Bytes())
	}
}
