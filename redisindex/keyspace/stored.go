package keyspace

import (
	"encoding/binary"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// StoredArticle is what the index keeps of one article, for tools that show the index. Of the article it has
// Coordinates, ID, Time (of the window), Fingerprint, Digest, LittleText and Signature.
type StoredArticle struct {
	article.Article
	// Ticket orders the articles: a copy names an article with a lower ticket. 0: not drawn yet.
	Ticket uint64
	// Verdict is zero as long as the article is undecided.
	Verdict article.Verdict
	// Overflow says that the entry lies beyond the limit of one fingerprint: only a replay or an exact repeat
	// of the article finds it.
	Overflow bool
	// Hidden says that only a replay of the article's own record finds the entry. Its Digest is not that of the text.
	Hidden bool

	At location
}

// location says which bytes an entry is.
type location struct {
	Key, Field string
	Value      string // of the whole field
	Entry      string // the part of value that is the entry
}

// AsHidden returns the entry as a hidden one, and its digest.
func (s *StoredArticle) AsHidden() (entry, digest string) {
	e := Entry{Article: s.Article}
	digest = string(e.HiddenDigest())
	return s.At.Entry[:ticketAt] + TicketBytes(MaxTicket) + digest + s.At.Entry[formAt:], digest
}

// Describe makes a StoredArticle of an entry. It is not ok if its verdict is damaged.
func (e *Entry) Describe(overflow bool) (s StoredArticle, ok bool) {
	s = StoredArticle{Article: e.Article, Ticket: e.Ticket, Overflow: overflow, Hidden: e.Ticket == MaxTicket}
	s.Verdict, ok = e.Verdict()
	return s, ok
}

// InField decodes the articles of a field. It is bad if a part of the field is damaged; the articles are those before.
func (l Layout) InField(key string, slice int64, field, value string) (articles []StoredArticle, bad bool) {
	if len(field) < FieldBytes {
		return nil, true
	}
	f := FieldRef{slice, simhash.Fingerprint(binary.BigEndian.Uint64([]byte(field)))}
	for rest := value; rest != ""; {
		e, after, err := CutEntry(f, l.Start(slice), rest)
		s, ok := e.Describe(len(field) > FieldBytes)
		if err != nil || !ok {
			return articles, true
		}
		s.At = location{key, field, value, rest[:len(rest)-len(after)]}
		articles = append(articles, s)
		rest = after
	}
	return articles, false
}
