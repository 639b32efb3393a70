package index

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/keyspace"
)

const statsHelp = `Stats goes through all keys of the index in Redis and prints the number of articles by verdict and by
slice, and the memory by kind of key.

It reads the whole index: about 10 s for a million articles, and as much time of the servers. It needs the rights SCAN,
DBSIZE, HGETALL and MEMORY USAGE.

If the index does not exist, it names those that do, of every namespace, recipe and layout. The exit code is 1 then.`

// stats is what the command stats prints.
type stats struct {
	Articles  int64                      `json:"articles"`
	ByVerdict map[string]int64           `json:"by_verdict"` // none: undecided
	Overflow  int64                      `json:"overflow"`
	Hidden    int64                      `json:"hidden"`
	Damaged   int                        `json:"damaged_fields"`
	Slices    []slice                    `json:"slices"`
	Bytes     map[keyspace.KeyKind]int64 `json:"bytes"`
}

// slice counts the articles of a slice.
type slice struct {
	From     time.Time `json:"from"`
	Articles int64     `json:"articles"`
}

func newStatsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Count the articles and the memory of the index", Long: statsHelp,
		Example: `  echosieve index stats --config echosieve.yaml --json`,
		Args:    command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	config.AddFlags(cmd.Flags(), "redis", "window", "recipe", "detection")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.Client().Close()
		s, err := count(cmd.Context(), index, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if s.Articles == 0 && s.Damaged == 0 {
			return index.missing(cmd.Context())
		}
		return command.Print(cmd, *asJSON, s, s.text)
	}
	return cmd
}

func count(ctx context.Context, index *opened, errOut io.Writer) (*stats, error) {
	s := &stats{ByVerdict: map[string]int64{}, Bytes: map[keyspace.KeyKind]int64{}}
	layout, bySlice := index.Keys().Layout, map[time.Time]int64{}
	err := index.scan(ctx, errOut, func(k admin.Keys) error {
		articles, damaged, err := k.Articles(ctx)
		if err != nil {
			return err
		}
		s.Damaged += damaged
		for i := range articles {
			s.add(&articles[i])
			slice := layout.Slice(keyspace.WindowTime(articles[i].Time))
			bySlice[time.UnixMilli(layout.Start(slice))]++
		}
		bytes, err := k.Bytes(ctx)
		if err != nil {
			return err
		}
		for kind, n := range bytes {
			s.Bytes[kind] += n
		}
		return nil
	})
	for from, n := range bySlice {
		s.Slices = append(s.Slices, slice{from, n})
	}
	slices.SortFunc(s.Slices, func(a, b slice) int { return a.From.Compare(b.From) })
	return s, err
}

func (s *stats) add(a *keyspace.StoredArticle) {
	s.Articles++
	s.ByVerdict[a.Verdict.Kind.String()]++
	if a.Overflow {
		s.Overflow++
	}
	if a.Hidden {
		s.Hidden++
	}
}

func (s *stats) text() string {
	var out lines
	out.line("%s: %d unique, %d near, %d exact (most exact repeats are not stored), %d possible, %d undecided",
		visible.Count(s.Articles, "article"), s.ByVerdict["unique"], s.ByVerdict["near"], s.ByVerdict["exact"],
		s.ByVerdict["possible"], s.ByVerdict["none"])
	out.line("%s, %s, %s", visible.Count(s.Overflow, "overflow entry"), visible.Count(s.Hidden, "hidden entry"),
		visible.Count(s.Damaged, "damaged field"))
	for _, p := range s.Slices {
		out.line("slice from %s: %s", p.From.UTC().Format(time.RFC3339), visible.Count(p.Articles, "article"))
	}
	for _, kind := range []keyspace.KeyKind{keyspace.KeyEntries, keyspace.KeyLists, keyspace.KeyDamaged,
		keyspace.KeyOthers} {
		out.line("%s: %s", kind, units.BytesSize(float64(s.Bytes[kind])))
	}
	return out.String()
}

// missing is the answer about an index without articles. It names the indexes that there are.
func (o *opened) missing(ctx context.Context) error {
	text := fmt.Sprintf("the index %s does not exist", o.Keys().ID)
	others, err := o.Others(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		text += fmt.Sprintf("\nthere is %s", other)
	}
	if len(others) == 0 {
		text += ", and there is no other one in this database"
	}
	return &command.AnswerError{Text: text}
}
