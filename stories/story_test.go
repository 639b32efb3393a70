package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/test/commandtest"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// placed is a copy at its place in an output topic.
type placed struct {
	at Position
	Copy
}

// randomStory makes a root and its copies in three partitions of two topics. Times, lengths and publishers repeat.
func randomStory(rng *rand.Rand, copies, names int) (root Article, all []placed) {
	one := func(i int) Article {
		a := Article{
			Ref: article.Ref{
				ID:          fmt.Sprint("id", i),
				Coordinates: article.Coordinates{Topic: "a", Partition: int32(i % 4), Offset: int64(i)},
			},
			Publisher: fmt.Sprint("publisher", rng.IntN(names)), Length: rng.IntN(4),
			Time: day.Add(time.Duration(rng.IntN(copies)) * time.Minute),
		}
		if credit := rng.IntN(names + 3); credit > 2 || i%2 == 0 {
			a.Credit, a.CreditBy = fmt.Sprint("agency", credit%7*(1+names/100)), []string{"field", "credit"}[rng.IntN(2)]
		}
		return a
	}
	next := map[Position]int64{}
	for i := range copies {
		at := Position{Topic: uint32(rng.IntN(2)), Partition: int32(rng.IntN(3))}
		next[at] += 1 + rng.Int64N(3)
		c := Copy{Article: one(i + 1), Exact: rng.IntN(2) == 0, Relation: article.Relation(rng.IntN(6))}
		all = append(all, placed{Position{at.Topic, at.Partition, next[at]}, c})
	}
	return one(0), all
}

// fold folds copies in a random order that keeps the order within each partition, and repeats some of them as a
// process does that goes on from an older committed offset.
func fold(rng *rand.Rand, root Article, all []placed, rules *Rules) *Story {
	s := New(root.Ref)
	type lane struct {
		all  []placed
		next int
	}
	var lanes []lane
	for _, p := range all {
		i := slices.IndexFunc(lanes, func(l lane) bool { return comparePartitions(l.all[0].at, p.at) == 0 })
		if i < 0 {
			i, lanes = len(lanes), append(lanes, lane{})
		}
		lanes[i].all = append(lanes[i].all, p)
	}
	for len(lanes) > 0 {
		i := rng.IntN(len(lanes))
		l := &lanes[i]
		s.Add(l.all[l.next].at, l.all[l.next].Copy, rules)
		if rng.IntN(10) == 0 {
			s, _ = decoded(string(s.Encode(nil)))
		}
		if l.next++; rng.IntN(10) == 0 {
			l.next = rng.IntN(l.next + 1)
		}
		if l.next == len(l.all) {
			lanes = slices.Delete(lanes, i, i+1)
		}
		if rng.IntN(len(all)) == 0 {
			s.SetRoot(root)
		}
	}
	s.SetRoot(root)
	return s
}

func TestOrderAndRepetitionDoNotMatter(t *testing.T) {
	rules := &Rules{Window: time.Hour, Trusted: []string{"publisher7", "publisher3"}}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		root, all := randomStory(rng, 1+rng.IntN(200), 1+rng.IntN(150))
		want := expected(root, all, rules)
		for range 3 {
			s := fold(rng, root, all, rules)
			require.Equal(t, want, s.Record(day, rules), "seed %d", seed)
			stored, err := decoded(string(s.Encode(nil)))
			require.NoError(t, err)
			require.Equal(t, want, stored.Record(day, rules), "seed %d", seed)
		}
	}
}

// expected counts a story in the plain way, with all articles in memory.
func expected(root Article, all []placed, rules *Rules) Record {
	articles := []placed{{Copy: Copy{Article: root}}}
	articles = append(articles, all...)
	early := slices.Clone(articles)
	slices.SortFunc(early, func(a, b placed) int {
		return cmp.Or(a.Time.Compare(b.Time), compareRoots(a.ID == root.ID, b.ID == root.ID),
			a.Compare(b.Coordinates))
	})
	r := Record{
		Root: Root{root.ID, root.String(), root.Publisher, root.Title, root.URL, &root.Time}, Copies: len(all),
		FirstTime: early[0].Time, LastTime: early[len(early)-1].Time,
		State: Open, Version: uint64(len(all)) + 1,
	}
	r.First = First{early[0].Publisher, early[0].ID, early[0].String(), early[0].Time}
	first := map[string]int{} // publisher -> place in early
	total, revised := map[string]int{}, map[string]int{}
	for i, a := range early {
		if _, known := first[a.Publisher]; !known {
			first[a.Publisher] = i
		}
		total[a.Publisher]++
		if a.Relation == article.Revises || a.Relation == article.Extends {
			revised[a.Publisher]++
		}
		if a.Exact {
			r.Exact++
		}
	}
	r.Near = r.Copies - r.Exact
	var names []string
	for name, n := range revised {
		r.Versions += min(n, total[name]-1)
	}
	for name := range first {
		names = append(names, name)
	}
	r.Publishers = len(names)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(early[first[a]].Time.Compare(early[first[b]].Time), cmp.Compare(a, b))
	})
	names = names[:min(MaxNamed, len(names))]
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	for _, name := range names {
		a := early[first[name]]
		p := Publisher{name, total[name], a.Time, a.ID, a.String(), a.Relation.String()}
		if name == root.Publisher {
			p.Copies--
		}
		if a.ID == root.ID {
			p.Relation = "root"
		}
		r.ByPublisher = append(r.ByPublisher, p)
	}
	r.Origin = expectedOrigin(early, r.First.Publisher)
	slices.SortStableFunc(early, func(a, b placed) int {
		return cmp.Or(cmp.Compare(rules.rank(a.Publisher), rules.rank(b.Publisher)), cmp.Compare(b.Length, a.Length))
	})
	best := early[0]
	r.Best = Best{best.ID, best.String(), best.Publisher, "", "trusted"}
	for _, other := range early[1:] {
		switch {
		case rules.rank(other.Publisher) > rules.rank(best.Publisher):
		case other.Length < best.Length:
			if r.Best.Why == "trusted" {
				r.Best.Why = "longest"
			}
		default:
			r.Best.Why = "earliest"
		}
	}
	return r
}

// expectedOrigin finds the origin in the plain way. Articles at one time are in the order of their coordinates.
func expectedOrigin(early []placed, first string) Origin {
	early = slices.Clone(early)
	slices.SortFunc(early, func(a, b placed) int {
		return cmp.Or(a.Time.Compare(b.Time), a.Compare(b.Coordinates))
	})
	articles := map[string]int{}
	for _, a := range early {
		articles[a.Credit]++
	}
	best := Origin{Name: first, By: "first", Of: len(early)}
	for _, a := range early {
		if a.Credit != "" && articles[a.Credit] > best.Articles {
			best = Origin{a.Credit, a.CreditBy, articles[a.Credit], len(early)}
		}
	}
	return best
}

// Ten thousand publishers are counted exactly, forty thousand within 2 %, and neither takes more memory than the bound.
func TestManyPublishers(t *testing.T) {
	for n, estimated := range map[int]bool{10_000: false, 40_000: true} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		s := New(article.Ref{ID: "root"})
		for i, name := range rng.Perm(n) {
			a := Article{
				Ref: article.Ref{ID: fmt.Sprint(i)}, Publisher: fmt.Sprint(name),
				Time: day.Add(time.Duration(name) * time.Second),
			}
			s.Add(Position{Offset: int64(i)}, Copy{Article: a}, &Rules{})
		}
		r := s.Record(day, &Rules{})
		require.Equal(t, n, r.Copies)
		require.Equal(t, estimated, r.Estimated)
		require.InEpsilon(t, n, r.Publishers, .02)
		if !estimated {
			require.Equal(t, n, r.Publishers)
		}
		require.Len(t, r.ByPublisher, MaxNamed)
		for i, p := range r.ByPublisher {
			require.Equal(t, fmt.Sprint(i), p.Name, "the first ones have their names, whenever they arrive")
		}
		require.LessOrEqual(t, len(s.Encode(nil)), 256<<10)
		stored, err := decoded(string(s.Encode(nil)))
		require.NoError(t, err)
		require.Equal(t, r, stored.Record(day, &Rules{}))
	}
}

func TestRelated(t *testing.T) {
	s := New(article.Ref{ID: "root"})
	for i := range 2 * MaxRelated {
		a := Article{Ref: article.Ref{ID: fmt.Sprint(i)}, Time: day.Add(-time.Duration(i) * time.Minute)}
		require.True(t, s.Relate(Position{Offset: int64(i)}, a))
		require.False(t, s.Relate(Position{Offset: int64(i)}, a))
	}
	require.Zero(t, s.Copies())
	s.Add(Position{Topic: 1}, Copy{Article: Article{Time: day}}, &Rules{})
	r := s.Record(day, &Rules{})
	require.Equal(t, 1, r.Copies)
	require.Len(t, r.Related, MaxRelated)
	require.Equal(t, fmt.Sprint(2*MaxRelated-1), r.Related[0].ID, "the earliest ones stay")
}

func TestUnknownRootAndEnd(t *testing.T) {
	rules := &Rules{Window: time.Hour}
	s := New(article.Ref{ID: "r", Coordinates: article.Coordinates{Topic: "t"}})
	s.Add(Position{}, Copy{Article: Article{Ref: article.Ref{ID: "c"}, Publisher: "P", Time: day}}, rules)
	r := s.Record(day.Add(time.Hour), rules)
	require.Equal(t, Open, r.State)
	require.Equal(t, 1, r.Publishers, "nobody knows that of the root")
	require.Equal(t, "earliest", r.Best.Why)
	require.Equal(t, Origin{"P", "first", 0, 1}, r.Origin)
	require.Equal(t, Ended, s.Record(day.Add(time.Hour+1), rules).State)
	out, err := json.Marshal(r.Root)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"r","coordinates":"t/0/0","publisher":""}`, string(out))
}

// decoded decodes the state of any root.
func decoded(state string) (*Story, error) {
	c, s := &codec{state: state[min(1, len(state)):]}, &Story{}
	c.uint64(&s.version)
	c.coordinates(&s.root.Coordinates)
	return Decode(state, s.root.Ref)
}

// The JSON of a story can be read, whatever its texts and times are, and names no character of HTML by a number.
func TestJSON(t *testing.T) {
	rules := &Rules{}
	text := "青澜 <b>&</b> \"quoted\"\\ \x00\n\u2028"
	for _, at := range []time.Time{day, time.UnixMilli(1 << 60), time.UnixMilli(-1 << 60)} {
		a := rules.Describe(article.Ref{ID: text, Coordinates: article.Coordinates{Topic: text}},
			article.Content{Title: text + "\xff", URL: text, Publisher: text}, at)
		s := New(a.Ref)
		s.SetRoot(a)
		s.Add(Position{}, Copy{Article: a}, rules)
		s.Relate(Position{Offset: 1}, a)
		written, err := decode.AppendJSON([]byte("x"), s.Record(day, rules))
		require.NoError(t, err)
		var r Record
		require.NoError(t, json.Unmarshal(written[1:], &r))
		want := s.Record(day, rules)
		want.Root.Title += "\ufffd"
		want.Root.Title = strings.Replace(want.Root.Title, "\xff", "", 1)
		want.Related[0].Title = want.Root.Title
		require.Equal(t, want, r)
		require.Contains(t, string(written), "<b>&</b>")
		_, err = decoded(string(s.Encode(nil)))
		require.NoError(t, err)
	}
}

// FuzzDecode reads any bytes. Bytes that it can read make a state that is written and read again without a change, and
// that has a record.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	root, all := randomStory(rng, 80, 90)
	s := fold(rng, root, all, &Rules{})
	s.Relate(Position{Topic: 9}, all[0].Article)
	f.Add(string(s.Encode(nil)))
	f.Add(string(New(root.Ref).Encode(nil)))
	forged := fold(rng, root, all[:1], &Rules{})
	forged.publishers.dropped = true
	f.Add(string(forged.Encode(nil)))
	f.Fuzz(func(t *testing.T, data string) {
		s, err := decoded(data)
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		state := string(s.Encode(nil))
		again, err := decoded(state)
		require.NoError(t, err)
		require.Equal(t, state, string(again.Encode(nil)))
		_, err = json.Marshal(s.Record(day, &Rules{}))
		require.NoError(t, err)
	})
}

// A state that no story of the root can have is refused where it is read.
func TestForgedStates(t *testing.T) {
	rules := &Rules{}
	rng := rand.New(rand.NewPCG(1, 1))
	root, all := randomStory(rng, 80, 90)
	other := root.Ref
	other.Offset++
	state := string(fold(rng, root, all, rules).Encode(nil))
	_, err := Decode(state, other)
	require.ErrorIs(t, err, ErrState, "the story of another root")
	for n := range state {
		_, err := Decode(state[:n], root.Ref)
		require.ErrorIs(t, err, ErrState, "%d of %d bytes", n, len(state))
	}
	_, err = Decode(state+"\x00", root.Ref)
	require.ErrorIs(t, err, ErrState)
	for name, forge := range map[string]func(*Story){
		"dropped alone":     func(s *Story) { s.publishers.dropped = true },
		"many publishers":   func(s *Story) { s.publishers.named = make([]publisher, MaxNamed+1) },
		"nobody":            func(s *Story) { s.publishers.named = nil },
		"no article":        func(s *Story) { s.publishers.named[0].articles = 0 },
		"disorder":          func(s *Story) { slices.Reverse(s.publishers.named) },
		"many labels":       func(s *Story) { s.labels = make([]Label, MaxLabels+1) },
		"disorder of names": func(s *Story) { slices.Reverse(s.credited.named) },
		"many related":      func(s *Story) { s.related = make([]Article, MaxRelated+1) },
		"more exact copies": func(s *Story) { s.exact = s.articles + 1 },
		"the year 30000":    func(s *Story) { s.last = time.UnixMilli(884541340800000) },
	} {
		s := fold(rng, root, all, rules)
		_, err := Decode(string(s.Encode(nil)), root.Ref)
		require.NoError(t, err)
		forge(s)
		_, err = Decode(string(s.Encode(nil)), root.Ref)
		require.ErrorIs(t, err, ErrState, name)
	}
}

// A state of the version before credits still counts: its articles name nobody.
func TestStateWithoutCredits(t *testing.T) {
	rules := &Rules{}
	rng := rand.New(rand.NewPCG(1, 1))
	root, all := randomStory(rng, 80, 90)
	old := fold(rng, root, all, rules)
	old.root.Credit, old.root.CreditBy, old.credited = "", "", publishers{}
	const nothing = "\x00\x00\x00\x00\x00\x00" // no label, no credit of the root, and none of copies
	state, found := strings.CutSuffix(string(old.Encode(nil)), nothing)
	require.True(t, found)
	s, err := Decode(string(rune(withoutCredits))+state[1:], root.Ref)
	require.NoError(t, err)
	require.Equal(t, old.Record(day, rules), s.Record(day, rules))
	require.Equal(t, "first", s.Record(day, rules).Origin.By)
}

// A list in a record that is longer than any of a story is refused before it takes memory.
func TestLongListsAreRefused(t *testing.T) {
	for _, list := range []string{"by_publisher", "related"} {
		of := func(n int) error {
			return json.Unmarshal([]byte(`{"`+list+`":[`+strings.TrimSuffix(strings.Repeat("{},", n), ",")+`]}`), &Record{})
		}
		require.NoError(t, of(MaxNamed))
		require.ErrorContains(t, of(MaxNamed+1), "more than")
	}
}

func TestPublisher(t *testing.T) {
	rules := &Rules{Owners: map[string]string{"mirror.example": "Post"}}
	for want, c := range map[string]article.Content{
		"Post":           {Publisher: " Post\n", URL: "https://www.other.example/"},
		"a.example":      {URL: "HTTPS://www.A.example:8080/x?y"},
		"b.example":      {URL: "b.example/path"},
		"c.example":      {URL: "c.example/?to=http://d.example/"},
		"bücher.example": {URL: "https://www.XN--BCHER-KVA.example./1"},
		"übung.example":  {URL: "//www.ÜBUNG.example/1"},
		"":               {URL: "http://[::1"},
		"青澜日报":           {Publisher: "青澜日报"},
	} {
		require.Equal(t, want, rules.Describe(article.Ref{}, c, day).Publisher)
	}
	mirror := article.Content{URL: "http://mirror.example"}
	require.Equal(t, "Post", rules.Describe(article.Ref{}, mirror, day).Publisher)
	long := rules.Describe(article.Ref{}, article.Content{Publisher: strings.Repeat("报", 5000)}, day).Publisher
	require.LessOrEqual(t, len(long), 64)
	require.True(t, utf8.ValidString(long))
}

// A page that claims next year, or 1970, is not first.
func TestTime(t *testing.T) {
	rules := &Rules{Window: 48 * time.Hour}
	for published, trusted := range map[time.Time]bool{
		day.Add(-48 * time.Hour): true, day.Add(-48*time.Hour - 1): false, day.Add(time.Hour): true,
		day.Add(time.Hour + 1): false, {}: false, time.Unix(0, 0): false, day.AddDate(1, 0, 0): false,
	} {
		want := day
		if trusted {
			want = published
		}
		require.Equal(t, want, rules.Describe(article.Ref{}, article.Content{Published: published}, day).Time, published)
	}
	at := rules.Describe(article.Ref{}, article.Content{}, time.UnixMicro(1_700_000_000_123_456)).Time
	require.Equal(t, time.UnixMilli(1_700_000_000_123).UTC(), at)
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "two words": 8, "青澜 日报": 4, "<p class='x'>ab</p><!-- note -->": 2,
		"1 < 2 > 3": 5, "a <b": 3, "<": 1, "<b>": 0,
	} {
		require.Equal(t, want, characters(text), text)
	}
}

func TestOwners(t *testing.T) {
	owners, err := Owners(commandtest.File(t, "owners", "\ufeff# chains\nMorning Post\tChain\r\n\nb.example = Chain \n"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Morning Post": "Chain", "b.example": "Chain"}, owners)
	_, err = Owners(commandtest.File(t, "owners", "a=b\nnothing\n"))
	require.ErrorContains(t, err, "owners:2 is not a publisher, a tab or =, and its owner")
	_, err = Owners("no/such/file")
	require.Error(t, err)
	owners, err = Owners("")
	require.NoError(t, err)
	require.Empty(t, owners)
}
