package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/access"
	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/base/diag"
	"echosieve/pipeline/page"
	"echosieve/test/inprocess"
)

// checkJSON runs the command, which must end with this exit code, and returns its result.
func checkJSON(t *testing.T, code int, args ...string) (result checkResult) {
	t.Helper()
	out, errOut := echosieve(t, code, "", append([]string{"check", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &result), "%s%s", out, errOut)
	return result
}

// checkedServers returns a broker, a Redis and the flags that name them.
func checkedServers(t *testing.T) []string {
	t.Helper()
	return []string{"--kafka.brokers", testBroker(t).ListenAddrs()[0], "--redis.addrs", miniredis.RunT(t).Addr()}
}

// If all servers answer, the service could start. Commands that miniredis does not know may only lead to warnings.
func TestCheckAllThere(t *testing.T) {
	servers := checkedServers(t)
	result := checkJSON(t, command.ExitOK, servers...)
	require.True(t, result.CanStart)
	require.NotEmpty(t, result.Recipe)
	out, _ := echosieve(t, command.ExitOK, "", append([]string{"check"}, servers...)...)
	require.Contains(t, out, "The service can start.")
	commandtest.FitsTerminal(t, out)
}

// A port that another program uses is a fault; one that a service of Echosieve uses is not.
func TestCheckListen(t *testing.T) {
	servers := checkedServers(t)
	for name, test := range map[string]struct {
		page string
		code int
		want string
	}{
		"another program": {"# HELP go_info Information.\n", command.ExitNo, "another program uses the port"},
		"a login":         {"", command.ExitOK, "a service of Echosieve is running there"},
		"a service": {"echosieve_build_info{version=\"1\"} 1\n", command.ExitOK,
			"a service of Echosieve is running there"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.page == "" {
					w.Header().Set("WWW-Authenticate", "Basic "+access.Realm)
					w.WriteHeader(http.StatusUnauthorized)
				}
				_, _ = io.WriteString(w, test.page)
			}))
			defer server.Close()
			address := strings.TrimPrefix(server.URL, "http://")
			result := checkJSON(t, test.code, append(servers, "--http.listen", address)...)
			require.True(t, slices.ContainsFunc(result.Findings, func(f diag.Finding) bool {
				return f.Component == "http" && f.Problem == test.want
			}), "%+v", result.Findings)
		})
	}
	for _, wrong := range [][]string{
		{"--http.listen", "192.0.2.1:9464"}, {"--http.config_file", "/none"}, {"--http.console", "--http.listen", ":0"},
	} {
		checkJSON(t, command.ExitNo, append(wrong, servers...)...)
	}
}

func TestCheckNamesTheScriptsThatComeIn(t *testing.T) {
	servers := checkedServers(t)
	input := func(code int) []diag.Finding {
		return slices.DeleteFunc(checkJSON(t, code, servers...).Findings,
			func(f diag.Finding) bool { return f.Subject != "input" })
	}
	require.Empty(t, input(command.ExitOK), "the topic is empty")
	// The records have no key and are spread by chance. A partition with more than sampleRecords would show
	// its last ones only.
	lines := strings.Repeat(`{"text":"港务局昨日宣布，新的集装箱码头将于明年开工建设。"}`+"\n", 30) +
		strings.Repeat(`{"text":"The harbour board voted to deepen the eastern channel."}`+"\n", sampleRecords-30)
	publish := func(lines string) {
		echosieve(t, command.ExitOK, lines, append([]string{"produce"}, servers[:2]...)...)
	}
	publish(lines)
	found := input(command.ExitOK)
	require.Len(t, found, 1)
	require.Equal(t, diag.OK, found[0].Severity)
	require.Equal(t, "of the last 50 records, 20 in script latin, 30 in script han, 0 without a word, 0 would be "+
		"dead letters", found[0].Problem)

	publish(strings.Repeat(`{"text":"...1"}`+"\n{\"headline\":\"x\"}\n", 5))
	found = input(command.ExitOK)
	require.Len(t, found, 1)
	require.Equal(t, diag.Warning, found[0].Severity)
	require.Contains(t, found[0].Problem, "5 would be dead letters")

	publish(strings.Repeat("{\"headline\":\"x\"}\n", 400))
	found = input(command.ExitNo)
	require.Equal(t, diag.Failure, found[0].Severity)
	require.Contains(t, found[0].Problem, "most of them for: no_text: none of the text fields")
}

func TestCheckBoilerplate(t *testing.T) {
	table, err := page.ReadBoilerplate(commandtest.File(t, "table.tsv",
		"format\t1\nwritten\t2026-05-04T12:00:00Z\n2026-05-04T13:00:00Z\t*\t9\tNo advice.\n"))
	require.NoError(t, err)
	begin := time.Date(2026, 5, 4, 13, 0, 0, 0, time.UTC)
	require.Empty(t, checkBoilerplate(nil, begin))
	found := checkBoilerplate(table, begin)
	require.Len(t, found, 1)
	require.Equal(t, diag.OK, found[0].Severity)
	found = checkBoilerplate(table, begin.Add(-time.Second))
	require.Equal(t, diag.Info, found[0].Severity)
	require.Contains(t, found[0].Problem, "1 row; the last begin to count at 2026-05-04T13:00:00Z")
}

// A fault of the input hides neither that the group's articles are in another index nor that they are in this one.
func TestCheckComparesTheIndex(t *testing.T) {
	w := inprocess.Start(t)
	w.Publish(t, 0, time.Now(), inprocess.Value("a", "", indexedText))
	w.Verdicts(t, 1)
	w.Stop()
	problems := func(args ...string) string {
		all := ""
		for _, f := range checkJSON(t, commandtest.Any, w.Args(args...)...).Findings {
			all += fmt.Sprintf("%s %s %s: %s\n", f.Component, f.Severity, f.Subject, f.Problem)
		}
		return all
	}
	require.Contains(t, problems(), "it has what the group has decided")
	require.Contains(t, problems("--kafka.group", "new"), "the group new has committed nothing yet")
	for range 3 {
		w.Publish(t, 0, time.Now(), `{"headline":"x"}`)
	}
	found := problems()
	require.Contains(t, found, "3 would be dead letters")
	require.Contains(t, found, "it has what the group has decided")
	found = problems("--window", "24h")
	require.Contains(t, found, "3 would be dead letters")
	require.Contains(t, found, "the group's articles are in another index")
	require.Contains(t, problems("--detection.stop_words", "/none"),
		"redis info index: not checked: the dictionaries have a fault")
	require.Contains(t, problems("--kafka.topics.input", "none"), "redis info index: not checked: Kafka has a fault")
	require.Contains(t, problems("--kafka.topics.input", "none"), "kafka info input: not checked: Kafka has a fault")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	require.Equal(t, command.ExitFailed, command.Execute(ctx, newRootCommand(), w.Args("check"),
		strings.NewReader(""), &out, &errOut))
	require.Empty(t, out.String())
	require.Contains(t, errOut.String(), "interrupted")
}
