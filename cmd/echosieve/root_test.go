package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
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
	// no result (two); answers by a protocol (mcp); prints a file; prints the service's answer; prints JSON in any case
	commandtest.Documented(t, newRootCommand(), "run", "stories", "reference", "ready", "filter", "mcp")
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
