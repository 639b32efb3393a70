package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/test/commandtest"
)

func TestCommandsAreDocumented(t *testing.T) {
	// no result (two); prints a file; prints the service's answer; prints JSON in any case
	commandtest.Documented(t, newRootCommand(), "run", "stories", "reference", "ready", "filter")
}

// Help lists the settings of the sections that a command uses; --help-all lists the others, too.
func TestHelpListsWhatACommandUses(t *testing.T) {
	for _, c := range []struct {
		args             []string
		listed, unlisted string
	}{
		{[]string{"produce"}, "--input.fields.text", "--redis.addrs"},
		{[]string{"ready"}, "--http.listen", "--kafka.brokers"},
		{[]string{"compare"}, "--detection.near", "--kafka.brokers"},
		{[]string{"diff"}, "--kafka.brokers", "--window"},
		{[]string{"index", "stats"}, "--window", "--kafka.brokers"},
		{[]string{"index", "refill"}, "--input.fields.text", "--http.listen"},
		{[]string{"boilerplate", "learn"}, "--kafka.brokers", "--detection.near"},
	} {
		out, _ := echosieve(t, command.ExitOK, "", append(c.args, "--help")...)
		require.Contains(t, out, "\n      "+c.listed+" ", c.args)
		require.NotContains(t, out, "\n      "+c.unlisted+" ", c.args)
		require.Contains(t, out, " --help-all lists them", c.args)

		// also without the arguments that the command needs
		all, errOut := echosieve(t, command.ExitOK, "", append(c.args, "--help-all")...)
		require.Empty(t, errOut)
		for _, key := range config.Schema().Keys() {
			if !key.Secret {
				require.Contains(t, all, "\n      --"+key.Name, c.args)
			}
		}
	}
	out, _ := echosieve(t, command.ExitOK, "", "run", "--help")
	require.Contains(t, out, "--shadow")
	require.NotContains(t, out, "--kafka.transactional_id_prefix", "it is hidden")
	require.Contains(t, out, "--help-all lists them")
}

// beSubject makes the test binary the program itself, so that signals can be tested.
const beSubject = "ECHOSIEVE_TEST_BE_SUBJECT"

func TestMain(m *testing.M) {
	switch os.Getenv(beSubject) {
	case "program":
		os.Exit(command.Main(newRootCommand()))
	case "stuck": // a command that does not end when it should
		ctx, _ := command.SignalContext()
		os.Stdout.WriteString("ready\n")
		<-ctx.Done()
		os.Stdout.WriteString("stopping\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// One more signal ends a command that is stuck.
func TestSecondSignal(t *testing.T) {
	// A shell that runs tests in the background makes them ignore SIGINT, and so their children. Children of
	// a process that handles the signal do not ignore it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	cmd, _, out := commandtest.Start(t, beSubject+"=stuck")
	for _, want := range []string{"ready\n", "stopping\n"} {
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	}
	// A signal that comes in the very moment of the first may still be taken for the same one.
	repeat := time.NewTicker(50 * time.Millisecond)
	defer repeat.Stop()
	go func() {
		for range repeat.C {
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}()
	exit := (*exec.ExitError)(nil)
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 130, exit.ExitCode(),
		"the process ends by itself: as the first process of a container it could not be ended by the signal")
}

func TestReady(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("redis: gone\n"))
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	listen := strings.TrimPrefix(server.URL, "http://")
	ready := func(code int, listen string) (out, errOut string) {
		return echosieve(t, code, "", "ready", "--http.listen", listen)
	}
	for _, address := range []string{listen, strings.Replace(listen, "127.0.0.1", "", 1),
		strings.Replace(listen, "127.0.0.1", "0.0.0.0", 1)} {
		out, _ := ready(command.ExitOK, address)
		require.Equal(t, "redis: gone\n", out)
	}
	status = http.StatusServiceUnavailable
	_, errOut := ready(command.ExitFailed, listen)
	require.Contains(t, errOut, "not ready: 503")
	status = http.StatusUnauthorized
	_, errOut = ready(command.ExitFailed, listen)
	require.Contains(t, errOut, "set http.token_file")
	server.Close()
	_, errOut = ready(command.ExitFailed, listen)
	require.Contains(t, errOut, "is the service running?")
}

// look reads files as app/files does. A piece that is no article is reported and makes the exit code 1.
func TestLookReadsFiles(t *testing.T) {
	redis := miniredis.RunT(t).Addr()
	for file, want := range map[string][2]string{
		"id,text\na,The harbour board voted.\nb,--\n":              {`["unique","dead"]`, "dead letter"},
		`{"text":"The harbour board voted."}` + "\n" + `{"id":"b"`: {`["unique"]`, "1 bad line left out"},
	} {
		// Of values in Avro, files hold the JSON.
		out, errOut := echosieve(t, command.ExitNo, "", "look", "--redis.addrs", redis, "--json", "--input.format", "avro",
			"--input.framing", "confluent", "--input.registry.urls", "http://127.0.0.1:1", commandtest.File(t, "file", file))
		require.JSONEq(t, want[0], gjson.Get(out, "articles.#.verdict").Raw)
		require.Contains(t, errOut, want[1])
	}
}

const boilerplateNotice = "This page was put together from public sources and is no legal advice."

// boilerplatePages returns pages of one publisher, a JSON object a line: different articles above the same notice.
func boilerplatePages(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%d","source":"courier","text":"Report w%dx of the harbour office. `+
			`The number of ships was v%dx. %s"}`+"\n",
			i, i, 7*i, boilerplateNotice)
	}
	return b.String()
}

func TestBoilerplateIsLearntFromFileAndTopic(t *testing.T) {
	dir := t.TempDir()
	pages := commandtest.FileIn(t, dir, "pages.jsonl", boilerplatePages(30)+"{\"id\":\"x\",\"text\":\"...\"}\n")
	broker := testBroker(t)
	kafka := "--kafka.brokers=" + broker.ListenAddrs()[0]
	echosieve(t, command.ExitOK, boilerplatePages(30), "produce", kafka)

	for name, from := range map[string][]string{
		// Of values in Avro, files hold the JSON.
		"file": {"--from", pages, "--input.format", "avro", "--input.framing", "confluent", "--input.registry.urls",
			"http://127.0.0.1:1"},
		"topic": {"--from", config.Default().Kafka.Topics.Inputs[0], kafka},
	} {
		out := filepath.Join(dir, name+".tsv")
		args := append([]string{"boilerplate", "learn", "--out", out, "--starts-in", "2h", "--json"}, from...)
		code, says := command.ExitOK, ""
		if name == "file" {
			code, says = command.ExitNo, "1 piece without an article"
		}
		stdout, errOut := echosieve(t, code, "", args...)
		require.Contains(t, errOut, says)
		var got struct {
			Articles, Publishers, Sentences int
			Begin                           time.Time
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, []int{30, 1, 1}, []int{got.Articles, got.Publishers, got.Sentences})
		require.WithinDuration(t, time.Now().Add(2*time.Hour), got.Begin, 10*time.Minute)
		table := commandtest.Read(t, out)
		require.Contains(t, table, got.Begin.Format(time.RFC3339)+"\tcourier\t30\t"+
			strings.ToLower(boilerplateNotice)+"\n")

		// The sentence is in the table, so that a second run adds nothing.
		stdout, _ = echosieve(t, command.ExitOK, boilerplatePages(30), "boilerplate", "learn", "--out", out, "--from",
			"-")
		require.Contains(t, stdout, "no new sentence was learnt")
		require.Equal(t, table, commandtest.Read(t, out))

		text := "The harbour of Larkfield handled more containers in March than in any month before, Anna Velde said. "
		stdout, _ = echosieve(t, command.ExitOK, "", "compare", "--publisher", "courier",
			"--detection.boilerplate_file", out, text+boilerplateNotice, text)
		require.Contains(t, strings.Join(strings.Fields(stdout), " "), " % left out as boilerplate")
	}
}
