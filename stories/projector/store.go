package projector

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"strconv"
	"time"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/stories"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/swap.lua
var swapSource string

var swapScript = redis.NewScript(swapSource)

// ErrEdition says that the stories are built anew, because somebody asked for it or another process found ErrLost.
// ErrLost says that it is because Redis has lost them.
var (
	ErrEdition = errors.New("another edition of stories has begun")
	ErrLost    = fmt.Errorf("%w: Redis has lost the stories", ErrEdition)
)

// Store holds the stories of one index in one edition, each in one key of Redis. Processes that change the same
// story at a time compare and swap: whoever comes second reads the new state and folds its copies into that. Safe for
// concurrent use.
type Store struct {
	client    redis.UniversalClient
	session   *connection.Session
	namespace string // the setting redis.namespace, for explanations
	keys      keyspace.Keys
	edition   string
	lifetime  time.Duration
}

// Open returns the store of the current edition. With rebuild, or if Redis knows none, it begins a new one, which is
// empty; the keys of the old one expire. The name of an edition is the time of its beginning, so it never comes
// again, even if Redis has lost it. lifetime is how long a story stays after its last change. Open asks Redis once.
func Open(ctx context.Context, client redis.UniversalClient, keys keyspace.Keys, namespace string,
	lifetime time.Duration, rebuild bool,
) (*Store, error) {
	how := redis.SetArgs{Mode: "NX"}
	if rebuild {
		how.Mode = ""
	}
	pipe := client.Pipeline()
	// The answer is nil if there is one already.
	pipe.SetArgs(ctx, keys.StoryEdition(), strconv.FormatInt(time.Now().UnixMicro(), 36), how)
	current := pipe.Get(ctx, keys.StoryEdition())
	if err := connection.Execute(ctx, pipe); err != nil {
		return nil, fmt.Errorf("edition of stories: %w", connection.Explain(err, client, namespace))
	}
	return &Store{
		client: client, session: connection.NewSession(client, namespace, swapScript), namespace: namespace, keys: keys,
		edition: current.Val(), lifetime: lifetime,
	}, nil
}

// Edition is the name of the edition.
func (s *Store) Edition() string { return s.edition }

// Entry is the story of a root, and its state when it was last read or stored.
type Entry struct {
	Of article.Ref
	*stories.Story
	state string                 // empty: there was none
	added []func(*stories.Story) // what a batch adds to it
}

// Read reads stories, empty ones where there are none, and returns those that are no longer as they were read or stored
// before. A state that cannot be read counts as none. The error is ErrEdition if there is another
// edition by now.
func (s *Store) Read(ctx context.Context, entries []*Entry) (changed []*Entry, err error) {
	pipe := s.client.Pipeline()
	edition := pipe.Get(ctx, s.keys.StoryEdition())
	replies := make([]*redis.StringCmd, len(entries))
	for i, e := range entries {
		replies[i] = pipe.Get(ctx, s.keys.Story(s.edition, e.Of.String()))
	}
	if err := connection.Execute(ctx, pipe); err != nil {
		return nil, connection.Explain(err, s.client, s.namespace)
	}
	switch edition.Val() {
	case s.edition:
	case "":
		return nil, ErrLost
	default:
		return nil, ErrEdition
	}
	for i, e := range entries {
		state := replies[i].Val()
		if e.Story != nil && state == e.state {
			continue
		}
		if e.Story, err = stories.Decode(state, e.Of); err != nil {
			e.Story = stories.New(e.Of)
		}
		e.state, changed = state, append(changed, e)
	}
	return changed, nil
}

// Swap stores the stories. It returns those that are not stored, because somebody else has changed them since they were
// read.
func (s *Store) Swap(ctx context.Context, entries []*Entry) (again []*Entry, err error) {
	if err := s.session.EnsureScripts(ctx); err != nil {
		return nil, connection.Explain(err, s.client, s.namespace)
	}
	pipe := s.client.Pipeline()
	replies, states := make([]*redis.Cmd, len(entries)), make([]string, len(entries))
	var state []byte
	for i, e := range entries {
		state = e.Encode(state[:0])
		states[i] = string(state)
		replies[i] = pipe.EvalSha(ctx, swapScript.Hash(), []string{s.keys.Story(s.edition, e.Of.String())},
			e.state, states[i], s.lifetime.Milliseconds())
	}
	if err := connection.Execute(ctx, pipe); err != nil {
		s.session.LoadAgain(err)
		return nil, connection.Explain(err, s.client, s.namespace)
	}
	for i, e := range entries {
		switch done, err := replies[i].Bool(); {
		case err != nil:
			return nil, fmt.Errorf("swap: %w", err)
		case done:
			e.state = states[i]
		default:
			again = append(again, e)
		}
	}
	return again, nil
}
