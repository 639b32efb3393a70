package filter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"echosieve/app/visible"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/stories"
)

// outputs writes one JSON line for each output.
type outputs struct {
	decode      decode.Config
	headersOnly bool
	wanted      [article.DestinationCount]bool
	writers     [toStories + 1]*bufio.Writer
	files       []*os.File
	line        []byte

	notUTF8 int           // lines with bytes that are no UTF-8
	stories *stories.Fold // nil: nobody asks for stories
}

// toStories is the place of the stories behind the topics.
const toStories = article.DestinationCount

// paths are the files for topics, where empty stands for standard output, and for stories and
// drops, where empty stands for none.
type paths struct{ unique, duplicate, dead, stories, drops string }

// open creates the files. What has none goes to stdout. None may be one of the inputs.
func (o *outputs) open(stdout io.Writer, p paths, inputs []string) error {
	standard := bufio.NewWriterSize(visible.Raw(stdout), 1<<18)
	for _, to := range []struct {
		flag, path string
		topics     []article.Destination
	}{
		{"unique", p.unique, []article.Destination{article.ToUnique, article.ToPossible}},
		{"duplicate", p.duplicate, []article.Destination{article.ToDuplicate}},
		{"dead", p.dead, []article.Destination{article.ToDead}},
		{"stories", p.stories, []article.Destination{toStories}},
	} {
		w := standard
		if to.path != "" && to.path != "-" {
			f, err := o.create(to.path, inputs)
			if err != nil {
				return fmt.Errorf("--%s: %w", to.flag, err)
			}
			w = bufio.NewWriterSize(f, 1<<18)
		}
		for _, topic := range to.topics {
			o.writers[topic] = w
		}
	}
	for _, f := range o.files {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			if err := f.Truncate(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// create opens a file, unless it is another one of this run.
func (o *outputs) create(path string, inputs []string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		for _, name := range inputs {
			if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
				return nil, fmt.Errorf("%s is also read: name another file", path)
			}
		}
		for _, f := range o.files {
			if other, err := f.Stat(); err == nil && os.SameFile(info, other) {
				return nil, fmt.Errorf("%s is named twice: name another file", path)
			}
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666) // emptied below, once nothing is wrong
	if err == nil {
		o.files = append(o.files, f)
	}
	return f, err
}

// write writes the line of an output, if its topic is wanted. It is in the file after flush.
func (o *outputs) write(out *pipeline.Output) error {
	if !o.wanted[out.Destination] {
		return nil
	}
	object, err := o.object(out)
	if err != nil {
		return err
	}
	if !utf8.Valid(object) {
		o.notUTF8++
	}
	member := out.Member()
	o.line = member.AppendTo(o.line[:0], object)
	_, err = o.writers[out.Destination].Write(append(o.line, '\n'))
	return err
}

func (o *outputs) object(out *pipeline.Output) ([]byte, error) {
	if !o.headersOnly {
		return out.Record.Value, nil
	}
	id := out.Content.ID
	if out.Verdict.Kind == 0 {
		content, _ := o.decode.Decode(out.Record)
		id = content.ID
	}
	return json.Marshal(map[string]string{"id": id})
}

func (o *outputs) tell(out *pipeline.Output) {
	if o.stories == nil || out.Verdict.Root == (article.Ref{}) { // nor of a dead letter or a null value
		return
	}
	content, _ := o.decode.Decode(out.Record) // out.Content is without text and address
	ref := article.Ref{ID: content.ID, Coordinates: out.Record.Coordinates}
	o.stories.Add(&out.Verdict, ref, content, out.Record.Time)
}

func (o *outputs) writeStories() error {
	if o.stories == nil {
		return nil
	}
	for _, r := range o.stories.Records() {
		line, err := decode.AppendJSON(nil, r)
		if err != nil {
			return err
		}
		_, _ = o.writers[toStories].Write(append(line, '\n')) // Flush returns its error
	}
	return o.flush()
}

func (o *outputs) flush() error {
	for _, w := range o.writers {
		if w != nil {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes the files. With sync their content is on disk.
func (o *outputs) close(sync bool) error {
	var errs []error
	for _, f := range o.files {
		if info, err := f.Stat(); sync && err == nil && info.Mode().IsRegular() {
			errs = append(errs, f.Sync())
		}
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
