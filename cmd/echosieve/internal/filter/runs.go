package filter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/memindex"
)

// runs are the runs in which files were read, kept in the index. The number of a run is part of the articles'
// coordinates, as is the name under which the file was read first.
//
// A run that did not reach the end of its input, because it was interrupted or killed, is taken up by the
// next run that reads the file: the same line with the same text is then the same record, and gets the same
// verdict again. After a whole run, the file is read under a new number: what it still holds is a copy. So
// nobody needs to know which lines were written before a crash, and what a feed repeats is found.
//
// A file is known by its first article, under whatever name it comes: as another spelling of its path, moved, or on
// standard input. That a whole file was read before is known by all of its articles.
type runs struct {
	index  *memindex.Index
	now    time.Time
	seen   map[string]int // files of this run by their first article
	read   []*sourceRun
	learnt *learnt.InOrder // nil: nothing is learnt
	// copies are the numbers of exact copies of articles of a run, named by the coordinates of its article 0.
	copies map[article.Coordinates]int64
}

func (r *runs) add(v *article.Verdict) {
	if at := v.Original.Coordinates; v.Kind == article.Exact {
		at.Offset = 0
		r.copies[at]++
	}
}

type sourceRun struct {
	Name    string    `json:"name"`
	Number  int32     `json:"number"`
	Started time.Time `json:"started"` // stands for the time of articles that have none
	Ended   string    `json:"ended"`   // hash of all articles; empty until all are written

	key     string
	file    string    // its name in this run
	hash    hash.Hash // of the articles so far
	damaged bool      // the file was not read to its end
	before  *sourceRun
}

// begin returns the run of a file with this first article.
func (r *runs) begin(name string, first []byte) (*sourceRun, error) {
	sum := sha256.Sum256(first)
	key := fileKey + fmt.Sprintf("%x", sum[:16])
	if r.seen[key]++; r.seen[key] > 1 { // the second time its articles are copies, and no replay
		key += fmt.Sprintf(" %d", r.seen[key])
	}
	run := &sourceRun{}
	if note, kept := r.index.Note(key); kept {
		if err := json.Unmarshal([]byte(note), run); err != nil {
			return nil, fmt.Errorf("--state: the run of %s: %w", name, err)
		}
	}
	if run.Ended != "" || run.Number == 0 {
		run = &sourceRun{Name: name, Started: r.now, before: run}
		number, _ := r.index.Note(numberKey + name)
		_, _ = fmt.Sscan(number, &run.Number) // a name without a number is new
		run.Number++
		r.index.SetNote(numberKey+name, fmt.Sprint(run.Number))
	}
	run.key, run.file, run.hash = key, name, sha256.New()
	r.read = append(r.read, run)
	return run, r.keep(run)
}

const (
	fileKey   = "file "   // before the hash of a file's first article: its last run
	numberKey = "number " // before the name of a file: the number of its last run
)

func (r *runs) keep(run *sourceRun) error {
	note, err := json.Marshal(run)
	r.index.SetNote(run.key, string(note))
	return err
}

func (s *sourceRun) add(value []byte) {
	s.hash.Write(value)
	s.hash.Write([]byte{'\n'})
}

// end keeps in the index that the runs are over and all their lines written. It names the files that an earlier run
// has read to the end, and the copies of articles that nobody may have got: an earlier run was cut off.
func (r *runs) end(out io.Writer) error {
	for _, run := range r.read {
		if run.damaged {
			continue
		}
		run.Ended = hex.EncodeToString(run.hash.Sum(nil))
		if run.before != nil && run.before.Ended == run.Ended {
			fmt.Fprintln(out, visible.Line(fmt.Sprintf("%s: decided in an earlier run, as %s/%d: its articles are copies of "+
				"themselves", run.file, run.before.Name, run.before.Number)))
		}
		if err := r.keep(run); err != nil {
			return err
		}
	}
	for _, note := range r.index.Notes(fileKey) {
		run := &sourceRun{}
		if err := json.Unmarshal([]byte(note), run); err != nil {
			return fmt.Errorf("--state: a run: %w", err)
		}
		if n := r.copies[article.Coordinates{Topic: run.Name, Partition: run.Number}]; n > 0 && run.Ended == "" {
			fmt.Fprintln(out, visible.Line(fmt.Sprintf("%s of articles of %s, a run that was interrupted: they may be in no "+
				"output; repeat that run with the same file", visible.Count(n, "exact copy"), run.Name)))
		}
	}
	if r.learnt != nil {
		known, err := r.learnt.State()
		if err != nil {
			return fmt.Errorf("--state: %w", err)
		}
		r.index.SetNote(learntKey, string(known))
	}
	return r.index.Sync()
}

// learntKey is the key of what the last whole run has learnt. A run that is cut off does not write it. So the run that
// repeats it learns the same sentences at the same articles, and gives them the same fingerprints.
const learntKey = "learnt"

// learntBefore returns what the runs before have learnt, if they are kept.
func learntBefore(index *memindex.Index, keep bool) (*learnt.InOrder, error) {
	known := learnt.NewInOrder()
	if !keep {
		return known, nil
	}
	if note, kept := index.Note(learntKey); kept {
		return known, known.Restore([]byte(note))
	}
	return known, nil
}
