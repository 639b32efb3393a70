package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/config"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
)

// foreign is a text as a stranger might write it: it sets the title of a terminal, turns colours on by a C1
// control, turns round the direction, and forges lines.
const foreign = "x\x1b]0;owned\a\u009b31m\u202egnp.exe\u2066\u200b\u2028\r\nFORGED line\nFORGED\tend\u0085FORGED"

// foreignWorld is a service that has decided foreign articles.
type foreignWorld struct {
	*inprocess.World
	near, unique, dead, broken string // coordinates; broken is a record in an output topic with foreign headers
	bad, articles              string // files: lines that are no articles, and lines that are
}

func newForeignWorld(t *testing.T) *foreignWorld {
	w := &foreignWorld{World: onRedis(t, func(cfg *config.Config) {
		cfg.Input.Records.PublisherLabels, cfg.HTTP.Console, cfg.HTTP.Look = 5, true, true
	})}
	w.CreateTopics(t, "articles-other")
	value := func(id, text string) string {
		v, err := json.Marshal(map[string]string{"id": id + foreign, "title": foreign, "url": foreign,
			"source": foreign, "text": text + " " + foreign})
		require.NoError(t, err)
		return string(v)
	}
	now := time.Now()
	publish := func(value string) string { return w.Publish(t, 0, now, value) }
	publish(value("original", indexedText))
	w.near = publish(value("near", indexedText+" Tickets cost the same."))
	w.unique = publish(value("unique",
		"Quite another report about beetles in the forests of the north, where foresters count them by hand."))
	w.dead = publish(`{"id":"x", "text": {"` + strings.ReplaceAll(foreign, "\n", "") + `": 1}}`)
	outputs := w.Verdicts(t, 4)
	for _, o := range outputs {
		other := *o
		other.Topic, other.Partition, other.Attrs = "articles-other", 0, kgo.RecordAttrs{}
		// as another run would have decided
		near := func(h kgo.RecordHeader) bool { return string(h.Value) == "near" }
		if i := slices.IndexFunc(o.Headers, near); i >= 0 {
			other.Headers = slices.Clone(o.Headers)
			other.Headers[i].Value = []byte("possible")
		}
		w.PublishTo(t, &other)
	}
	var headers []kgo.RecordHeader
	for _, h := range outputs[0].Headers {
		headers = append(headers, kgo.RecordHeader{Key: h.Key, Value: []byte(foreign)})
	}
	w.broken = w.PublishTo(t, &kgo.Record{Topic: w.Config.Kafka.Topics.Unique, Timestamp: now, Value: []byte("{}"),
		Headers: headers})
	w.bad = commandtest.File(t, "bad", "{\"id\": "+strings.ReplaceAll(foreign, "\n", " ")+"\n"+
		value("a", indexedText)+"\n")
	w.articles = commandtest.File(t, "articles", strings.Repeat(value("a", indexedText)+"\n", 3))
	return w
}

// lines are the command lines that make each command print text of strangers.
func (w *foreignWorld) lines(t *testing.T) map[string][][]string {
	outputs := w.Config.Kafka.Topics.Unique + "," + w.Config.Kafka.Topics.Duplicate
	page := t.TempDir() + "/page.html"
	return map[string][][]string{
		"explain": {{w.near, "--html", page}, {w.near, "--whole"}, {w.unique}, {w.dead}, {w.broken},
			{"--id", "near" + foreign}, {"--id", foreign}, {foreign}, {"articles/0/99"}},
		"diff": {{outputs, "articles-other"}, {outputs, foreign}},
		"compare": {{foreign + indexedText, "Tickets. " + foreign, "--texts"}, {indexedText, indexedText + foreign},
			{w.bad, w.articles}},
		"index lookup": {{"near" + foreign, "--as", "id"}, {w.near}, {indexedText + " " + foreign, "--as", "text"},
			{foreign, "--as", "id"}, {foreign, "--as", "coordinates"}},
		"look": {{w.articles}, {w.bad}, {foreign},
			{commandtest.File(t, "dead", `{"id": "`+"\u202e"+`", "text": 1}`)}},
		"filter":       {{w.articles}, {w.bad}, {foreign}},
		"index stats":  {{}},
		"index refill": {{}, {"--from", foreign}},
		"index forget": {{w.unique}, {foreign}, {"articles/0/99"}},
		"index accept": {{}, {foreign}, {"--kafka.group", foreign}, {"--redis.namespace", "other"}},
		"check":        {{}, {"--kafka.topics.input", "no-such-topic"}, {"--detection.stop_words", w.bad}},
		"learnt":       {{}},
		"learnt never": {{"00c3a5d1f2e49b77"}, {foreign}, {"--from", w.bad}},
		"release": {{w.near, "--dry-run"}, {w.unique}, {w.dead}, {w.broken}, {"near" + foreign, "--dry-run"}, {foreign},
			{w.near}, {"--from", w.bad}},
		"label": {{w.near, "--label", "false", "--text", foreign}, {w.near, "--label", "false", "--text", foreign, "--topic",
			"articles-other"}, {w.dead, "--label", "false"}, {foreign, "--label", foreign}, {foreign, "--label", "false"}},
		"produce":      {{w.bad}, {"--strict", w.bad}, {foreign}},
		"ready":        {{"--http.listen", w.HTTP}, {"--http.listen", foreign + ":1"}},
		"config print": {{"--redis.username", foreign}, {"--window", foreign}},
		// otherwise only a log, in which slog quotes, and the Writer of all commands
		"run":     {{"--kafka.topics.input", foreign}},
		"stories": {{"--kafka.topics.unique", foreign}, {"--owners", foreign}},
	}
}

// ownText are the commands that print nothing but their own text.
var ownText = []string{"config reference", "version", "help", "completion", "mcp"} // mcp answers programs only

// TestForeignText requires of every command that no text of strangers controls the terminal, hides anything
// or forges a line. It walks over the commands of the program, so that a new one fails until it has its
// lines.
func TestForeignText(t *testing.T) {
	w := newForeignWorld(t)
	lines, shown := w.lines(t), 0
	for _, name := range leaves(newRootCommand(), "") {
		if own := strings.Fields(name)[0]; slices.Contains(ownText, name) || slices.Contains(ownText, own) {
			continue
		}
		require.NotEmpty(t, lines[name],
			"command %q is new: add command lines with which it prints articles, or data of Kafka or Redis", name)
		for _, args := range lines[name] {
			for _, asJSON := range []bool{false, true} {
				args := append(strings.Fields(name), args...)
				if asJSON {
					args = append(args, "--json")
				}
				out, errOut := echosieve(t, commandtest.Any, "", w.Args(args...)...)
				if name != "filter" { // it passes articles on byte by byte, except to a terminal: see visible.Raw
					requireHarmless(t, out, args)
				}
				requireHarmless(t, errOut, args)
				shown += strings.Count(out+errOut, "owned")
				if asJSON && strings.HasPrefix(out, "{") {
					require.True(t, json.Valid([]byte(out)), out)
					require.NotContains(t, out, "<U+001B>]0;owned<U+0007><U+009B>31m<U+202E>gnp",
						"programs get the text as it is: %q", args)
				}
				for i, arg := range args {
					if arg == "--html" {
						requireHarmless(t, commandtest.Read(t, args[i+1]), args)
						require.Contains(t, commandtest.Read(t, args[i+1]), "owned")
					}
				}
			}
		}
	}
	require.Greater(t, shown, 50, "the foreign texts are not shown at all")
}

// TestForeignAnswers requires the same of what the listener answers: people read it with curl.
func TestForeignAnswers(t *testing.T) {
	w, shown := newForeignWorld(t), 0
	value, err := json.Marshal([]map[string]string{{"id": foreign, "title": foreign, "text": indexedText + foreign}})
	require.NoError(t, err)
	for path, body := range map[string]string{
		"/metrics": "", "/readyz": "", "/healthz": "", "/": "", "/v1/look": string(value), "/console/api/feed": "",
		"/console/api/find?q=" + url.QueryEscape(foreign): "", "/console/api/verdict?at=" + url.QueryEscape(w.near): "",
		"/console/api/titles?at=" + url.QueryEscape(w.near): "", "/" + url.PathEscape(foreign): "",
	} {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.HTTP+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text := make([]byte, 1<<20)
		n, wait := 0, strings.HasSuffix(path, "feed") // the feed does not end: its first event is enough
		for n < len(text) && err == nil && (!wait || !strings.Contains(string(text[:n]), "\n\n")) {
			var more int
			more, err = answer.Body.Read(text[n:])
			n += more
		}
		answer.Body.Close()
		requireHarmless(t, string(text[:n]), []string{path})
		shown += strings.Count(string(text[:n]), "owned")
	}
	require.Greater(t, shown, 10, "the foreign texts are not shown at all")
}

// requireHarmless requires that a text shows everything that is in it, and that no line of it is forged.
func requireHarmless(t *testing.T, text string, args []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		beside := strings.Contains(line, "|") // two texts side by side have the lines of the texts
		require.False(t, strings.HasPrefix(line, "FORGED") && !beside, "%q: a forged line in %q", args, text)
		for _, r := range strings.TrimSuffix(line, "\n") {
			require.False(t, unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) && r != '\t', "%q prints %U: %q", args,
				r, line)
		}
	}
}

// leaves returns the names of the commands that have no sub-commands.
func leaves(cmd *cobra.Command, name string) (names []string) {
	if !cmd.HasSubCommands() {
		return []string{name}
	}
	for _, sub := range cmd.Commands() {
		names = append(names, leaves(sub, strings.TrimSpace(name+" "+sub.Name()))...)
	}
	return names
}
