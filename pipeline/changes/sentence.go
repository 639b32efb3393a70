package changes

import (
	"index/suffixarray"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"echosieve/pipeline/article"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
)

// The bounds of a text that is compared. Few articles are as long.
const mostBytes, mostSentences = 256 << 10, 4000

// sentence is a sentence of an article.
type sentence struct {
	text  string // as people read it
	key   string // equal sentences have equal keys
	head  bool   // a line above the article: its numbers number the version
	aside bool   // such a line, or a byline, a credit, "More": no news
	terms []string
}

// withAddresses are the rules of page.NewFinder by which no sentence loses a part.
var withAddresses = uint(1) << slices.Index(page.Rules(), "addresses")

// sentencesOf returns the sentences of an article, without what stands around it. cut says that the text is too long.
func sentencesOf(v Version) (list []sentence, cut bool) {
	defer func() { setAside(list, normalised(text.Clean(v.Title))) }()
	raw := article.Cut(v.Text, mostBytes)
	cut = len(raw) < len(v.Text)
	body, left := page.NewFinder(page.HTMLArticle, withAddresses).Find(raw, text.Clean(raw), article.Origin{}, nil)
	within, head := normalised(body), len(normalised(body[:left.Head]))
	for _, readable := range []string{text.Readable(raw), body} { // body: the text is no text, but an editor's blocks
		from := 0
		for _, end := range page.SentencesOf(readable) {
			s := sentence{text: strings.TrimSpace(readable[from:end])}
			last := s.text[strings.LastIndexByte(s.text, ' ')+1:]
			if abbreviation.MatchString(last) && strings.HasPrefix(readable[end:], " ") {
				continue
			}
			from = end
			clean := text.Clean(s.text)
			plain, _ := text.Plain(nil, clean)
			s.key = normalised(plain)
			at := strings.Index(within, s.key)
			if s.key == "" || at < 0 {
				continue
			}
			if len(list) == mostSentences {
				return list, true
			}
			s.head, s.terms = at < head, termsOf(clean, s.key)
			list = append(list, s)
		}
		if len(list) > 0 {
			break
		}
	}
	return list, cut
}

// abbreviation matches a word whose full stop does not end a sentence: "U.S.", "Sen.", "J.", the German ordinal "14.".
var abbreviation = regexp.MustCompile(`^[^\pL\d]*(?:(?:\pL\.)+\pL|\p{Lu}\p{Ll}{0,2}|\d\d?)\.$`)

// mostBare bounds the words of a line without an end of sentence and without a number that is no sentence.
const mostBare = 10

// setAside marks what is no sentence of the article. Where that would be half of a text or more, such as a poem or a
// table, its lines are the article.
func setAside(list []sentence, title string) {
	aside, all := 0, 0
	for i := range list {
		s := &list[i]
		s.head = s.head || title != "" && strings.Contains(s.key, title) && len(s.key) < 2*len(title)
		s.aside = s.head || len(s.terms) <= mostBare && !strings.ContainsAny(s.text, ".!?\u3002\uff01\uff1f") &&
			!strings.ContainsFunc(s.text, unicode.IsDigit)
		n := letters(s.text)
		if all += n; s.aside {
			aside += n
		}
	}
	for i := range list {
		list[i].head, list[i].aside = list[i].head && 2*aside < all, list[i].aside && 2*aside < all
	}
}

func normalised(clean string) string { return string(text.AppendNormalised(nil, clean)) }

// termsOf returns the different words of a clean sentence. Where each character is a word, as in Chinese, pairs of them
// are the words. It returns key if there are none.
func termsOf(clean, key string) (list []string) {
	single := ""
	for iter := words.FromString(clean); iter.Next(); {
		word := iter.Value()
		r, size := utf8.DecodeRuneInString(word)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			single = ""
		case size < len(word):
			list, single = append(list, word), ""
		default:
			if single != "" {
				list = append(list, single+word)
			}
			single = word
		}
	}
	if len(list) == 0 {
		return []string{key}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// group is some sentences of both texts that say much the same. One side may be empty: then the other holds a sentence
// and its repeats.
type group = Replaced[[]sentence]

// match puts each sentence of both texts into one group: with those that are equal, else with those that share at least
// half of the words of one of them, by weight. So a sentence that was split or joined is in a group with its parts.
func match(old, now []sentence) []group {
	all := slices.Concat(now, old)
	of := make([]int, len(all)) // a forest: each sentence leads to one of its group
	first, both := map[string]int{}, map[int]bool{}
	for i := range all {
		if _, found := first[all[i].key]; !found {
			first[all[i].key] = i
		}
		of[i] = first[all[i].key]
		both[of[i]] = both[of[i]] || of[i] < len(now) && i >= len(now)
	}
	var rest []int
	alone := map[int]bool{} // no other sentence is like it
	for i := range all {
		if of[i] == i && !both[i] {
			rest, alone[i] = append(rest, i), true
		}
	}
	for _, edge := range likest(all, rest, len(now)) {
		of[find(of, edge[0])] = find(of, edge[1])
		alone[edge[0]], alone[edge[1]] = false, false
	}
	var lines [2][]int // a line such as a byline is for another
	for _, i := range rest {
		if side := textOf(i, len(now)); all[i].aside && alone[i] {
			lines[side] = append(lines[side], i)
		}
	}
	if len(lines[0]) > 0 && len(lines[1]) > 0 {
		for _, i := range slices.Concat(lines[0], lines[1]) {
			of[i] = lines[0][0]
		}
	}
	var groups []group
	at := map[int]int{}
	for i := range all {
		root := find(of, i)
		if _, found := at[root]; !found {
			at[root] = len(groups)
			groups = append(groups, group{})
		}
		if g := &groups[at[root]]; i < len(now) {
			g.New = append(g.New, all[i])
		} else {
			g.Old = append(g.Old, all[i])
		}
	}
	return groups
}

func find(of []int, i int) int {
	for of[i] != i {
		i = of[i]
	}
	return i
}

// mostHolders bounds the sentences with a word: one that more sentences have tells nothing.
const mostHolders = 64

// likest returns for each sentence the one of the other text that has the most of its words, if that is half of them at
// least. rest are the sentences, of which those before middle are of the later text. A word weighs the less, the more
// sentences of one text have it.
func likest(all []sentence, rest []int, middle int) (edges [][2]int) {
	holders := [2]map[string][]int{{}, {}}
	for _, i := range rest {
		side := holders[textOf(i, middle)]
		for _, term := range all[i].terms {
			side[term] = append(side[term], i)
		}
	}
	for _, i := range rest {
		whole, best, shared := 0.0, -1, map[int]float64{}
		for _, term := range all[i].terms {
			others := holders[1-textOf(i, middle)][term]
			if len(others) == 0 && strings.ContainsFunc(term, unicode.IsDigit) {
				continue // figures differ between versions of a sentence
			}
			weight := 1 / float64(max(len(holders[0][term]), len(holders[1][term])))
			whole += weight
			if len(others) <= mostHolders {
				for _, j := range others {
					shared[j] += weight
					if best < 0 || shared[j] > shared[best] {
						best = j
					}
				}
			}
		}
		if best >= 0 && shared[best] >= whole*leastShared {
			edges = append(edges, [2]int{i, best})
		}
	}
	return edges
}

// indexOf returns where everything of a text stands.
func indexOf(list []sentence) *suffixarray.Index {
	var keys []byte
	for i := range list {
		keys = append(keys, list[i].key...)
	}
	return suffixarray.New(keys)
}

// standsIn tells whether a text has most pieces of a sentence, so that it is only cut otherwise.
func (s *sentence) standsIn(text *suffixarray.Index) bool {
	found, all := 0, 0
	for at := 0; at == 0 || at+pieceBytes <= len(s.key); at += pieceBytes / 4 {
		all++
		found += len(text.Lookup([]byte(s.key[at:min(at+pieceBytes, len(s.key))]), 1))
	}
	return float64(found) >= mostPieces*float64(all)
}

// leastShared is the share of its words that a sentence has in common with the one that it was made of.
const leastShared = 0.5

// A sentence has mostPieces of its pieces, of pieceBytes bytes each, in common with the text that it was taken from.
const mostPieces, pieceBytes = 0.7, 12

// textOf is 0 for a sentence of the later text, 1 for one of the earlier.
func textOf(i, middle int) int {
	if i < middle {
		return 0
	}
	return 1
}
