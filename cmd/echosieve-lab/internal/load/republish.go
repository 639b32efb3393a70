package load

import (
	"slices"
	"strings"
)

// retitled is the share of copies that get a title of their own.
const retitled = .4

// sameText returns the article as a site publishes it that takes over the text: half of them unchanged, the
// others with other line breaks and, in Chinese, digits of full width. Both are exact copies, because neither
// belongs to the normalised text.
func (f *Feed) sameText(o *original) article {
	a := o.article
	a.Source = o.tell("paper1")
	if f.rng.IntN(2) == 0 {
		separator := "\n\n"
		if o.chinese() {
			separator = "\n　　"
			for i, p := range o.paragraphs {
				a.Text = strings.ReplaceAll(a.Text, p, strings.Map(fullWidth, o.paragraphs[i]))
			}
		}
		a.Text = strings.ReplaceAll(a.Text, "\n", separator)
	}
	f.retitle(&a, o)
	return a
}

func fullWidth(r rune) rune {
	if r >= '0' && r <= '9' {
		return r - '0' + '０'
	}
	return r
}

// edited returns the article as another site publishes it that changes the text: one to three edits of those
// that re-publishers make.
func (f *Feed) edited(o *original) article {
	a, paragraphs := o.article, slices.Clone(o.paragraphs)
	a.Source = o.tell("paper1")
	edits := []func(*original, []string) []string{f.credit, f.footer, f.cut, f.reword, f.insert}
	f.rng.Shuffle(len(edits), func(i, j int) { edits[i], edits[j] = edits[j], edits[i] })
	for _, edit := range edits[:1+f.rng.IntN(3)] {
		paragraphs = edit(o, paragraphs)
	}
	a.Text = strings.Join(paragraphs, "\n")
	if f.rng.IntN(8) == 0 {
		a.Text = page(o, a.Title, paragraphs)
	}
	f.retitle(&a, o)
	return a
}

func (f *Feed) retitle(a *article, o *original) {
	if f.rng.Float64() < retitled {
		a.Title = o.tell("retitle")
	}
}

// credit names the source in front of the text.
func (f *Feed) credit(o *original, paragraphs []string) []string {
	separator := " "
	if o.chinese() {
		separator = ""
	}
	paragraphs[0] = o.tell("credit") + separator + paragraphs[0]
	return paragraphs
}

// footer adds a line below the text.
func (f *Feed) footer(o *original, paragraphs []string) []string {
	return append(paragraphs, o.tell("footer"))
}

// cut leaves out the end: the last paragraph, or its last sentence.
func (f *Feed) cut(o *original, paragraphs []string) []string {
	last := len(paragraphs) - 1
	if f.rng.IntN(2) == 0 && last >= 3 {
		return paragraphs[:last]
	}
	stop := ". "
	if o.chinese() {
		stop = "。"
	}
	if at := strings.LastIndex(strings.TrimSuffix(paragraphs[last], "。"), stop); at > 0 {
		paragraphs[last] = paragraphs[last][:at+len(strings.TrimSpace(stop))]
	}
	return paragraphs
}

// reword replaces words by others of the same meaning.
func (f *Feed) reword(o *original, paragraphs []string) []string {
	for i := range paragraphs {
		paragraphs[i] = o.language.rewords.Replace(paragraphs[i])
	}
	return paragraphs
}

// insert adds a sentence of the other site's own.
func (f *Feed) insert(o *original, paragraphs []string) []string {
	return slices.Insert(paragraphs, 1+f.rng.IntN(len(paragraphs)), o.tell("colour"))
}

// page is the whole HTML document around the article.
func page(o *original, headline string, paragraphs []string) string {
	menu := o.tell("menu")
	return "<!doctype html>\n<html><head><title>" + headline + "</title></head><body><nav>" + menu +
		"</nav><article><h1>" + headline + "</h1><p>" +
		strings.Join(paragraphs, "</p>\n<p>") + "</p></article><footer>" + menu + "</footer></body></html>"
}
