package told

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
)

// Repeated is a sentence that is left out of an article, because publishers repeat it.
type Repeated struct {
	Sentence  string    `json:"sentence"`            // clean
	Publisher string    `json:"publisher,omitempty"` // who repeats it; "*": at least learnt.Publishers of them
	Since     time.Time `json:"since,omitzero"`      // from when on it is left out; zero: from the article behind those
	Articles  int       `json:"articles"`            // so many different ones had it by then
}

// repeated lists the sentences of a text that are left out of an article made of it. Where too little would be left,
// the article is compared whole. A sentence without a begin is left out of what follows its example in a file.
func (t *Judge) repeated(raw, record string, from article.Origin, made *article.Article) (list []Repeated) {
	if made.RepeatedBytes == 0 {
		return nil
	}
	for _, r := range t.recipe.Repeated(raw, from) {
		number, same := strings.CutPrefix(record, fmt.Sprintf("%s/%d/", r.Example.Topic, r.Example.Partition))
		if at, _ := strconv.ParseInt(number, 10, 64); same && r.Begin.IsZero() && r.Example.Offset >= at {
			continue
		}
		list = append(list, Repeated{Sentence: r.Text, Publisher: r.Publisher, Since: r.Begin.UTC(), Articles: r.Articles})
	}
	return list
}

// String says in one line what is left out and why.
func (r *Repeated) String() string {
	who := "of this publisher"
	switch r.Publisher {
	case learnt.Everybody:
		who = fmt.Sprintf("of each of %d publishers", learnt.Publishers)
	case "":
		who = "without a publisher"
	}
	since := ""
	if !r.Since.IsZero() {
		since = r.Since.Format(" since 2006-01-02 15:04")
	}
	return fmt.Sprintf("left out%s, repeated by %d articles %s: %s", since, r.Articles, who,
		text.Trim(visible.Line(r.Sentence), mostTitle))
}
