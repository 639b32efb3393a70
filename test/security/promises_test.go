package security

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A promise is what SECURITY.md says of the program, and the tests that fail when it is not kept. A sentence
// belongs to the promises whose phrase it holds.
type promise struct {
	phrase string
	tests  string // each "package.Test", with spaces between them; empty: the sentence promises nothing
}

// promises holds every sentence of SECURITY.md under "What is not trusted" and "What is trusted" that names
// no test itself.
var promises = []promise{
	{"A publisher of the input topic may write anything", "test/hostile.TestHostileRecords"},
	{"becomes an article or a dead letter",
		"test/hostile.TestHostileRecords pipeline/decode.TestDecodeRejects pipeline/decode.FuzzDecode"},
	{"does not stop the process", "test/hostile.TestHostileRecords"},
	{"does not change the verdict of an article that has one", "redisindex.TestContract"},
	{"time and memory grow no faster than its size",
		"pipeline.TestHostileTextsTakeLinearTime pipeline.TestLongFieldsTakeLinearTime"},
	{"These are the bounds", ""},
	{"size of a record", "test/hostile.TestHostileRecords pipeline.TestPeakMemory"},
	{"about 8 times its size in memory", "pipeline.TestPeakMemory"},
	{"record batch, as stored", "test/hostile.TestBombs consumer/internal/wire.TestDamagedBatches"},
	{"larger batch stops its partition", "test/hostile.TestBombs"},
	{"`max.message.bytes` below", ""},
	{"records in memory", "consumer.TestInFlightIsBounded consumer.TestMemoryIsBoundedWithManyPartitions"},
	{"work of an article", "pipeline.TestHostileTextsTakeLinearTime pipeline/page.TestReduced"},
	{"beyond the bounds of work, is read as text", "pipeline/page.TestReduced"},
	{"The first 65,536 different words count", "pipeline.TestPeakMemory"},
	{"more than twice as long", "pipeline/recipe.TestCostlyTexts"},
	{"name a record that takes 10 s", "app/service.TestHealthNamesSlowRecords"},
	{"nesting of JSON and Avro", "pipeline/decode.TestDepth pipeline/decode.TestHostileAvro"},
	{"an Avro value as JSON", "pipeline/decode.TestHostileAvro"},
	{"decompress", "test/hostile.TestBombs consumer/internal/wire.TestLargeBatchesAreReadRecordByRecord " +
		"consumer/internal/wire.TestMemoryOfDecompressorsIsKnownBefore"},
	{"above `kafka.max_message_bytes` is skipped", "consumer/internal/wire.TestOversizeRecordsAreCut"},
	{"fingerprints in a block list", "redisindex.TestFullList"},
	{"entries read from Redis for one article", "pipeline/lookup.TestNearest"},
	{"life of an entry in Redis", "redisindex.TestEveryKeyExpires redisindex.TestHostileTimestamps"},
	{"attacks remain for a publisher", ""},
	{"Publish a copy of an article before the article", ""},
	{"then counts as the copy", ""},
	{"with a tenth of its words replaced suppresses", ""},
	{"Publish many articles that look alike", ""},
	{"costs the attacker hardly anything", ""},
	{"Fill the block lists", ""},
	{"then pass as `unique`", ""},
	{"`echosieve_redisindex_full_lists_total` rises", "redisindex.TestFullList"},

	{"**The network**, if TLS is on", ""},
	{"Certificates, their dates and their names are verified", "test/security.TestCertificatesAndVersions"},
	{"`check` and `run` warn of that setting", "test/security.TestCertificatesAndVersions"},
	{"TLS 1.2 is the oldest version", "test/security.TestCertificatesAndVersions"},

	{"**Clients of the HTTP listener**", ""},
	{"GET and HEAD only",
		"app/service.TestHTTPMethodsAndPaths test/console.TestConsoleIsReadOnly " +
			"app/inquiry.TestRequests app/inquiry.TestLookForetellsVerdicts"},
	{"limits time, header size",
		"app/service.TestConnectionsAreBounded app/service.TestHTTPHeaderLimit app/service.TestScrapesAtOnce"},
	{"No answer holds a secret", "test/security.TestSecuredServers"},
	{"Only the console, which is off by default, holds articles",
		"test/console.TestConsoleIsReadOnly app/service.TestHTTPDefaults " +
			"app/service.TestHTTPMethodsAndPaths"},
	{"Debug pages exist only with `http.pprof`", "app/service.TestHTTPMethodsAndPaths"},
	{"listens on loopback by default", "app/service.TestHTTPDefaults"},
	{"With a login it answers nobody else", "app/access.TestLogins test/console.TestConsoleBehindALogin"},
	{"does not start on another address without one",
		"app/access.TestArticlesNeedALogin cmd/echosieve.TestCheckListen"},
	{"A login that is revoked is out at once",
		"app/access.TestRevokedLoginsAreOutAtOnce app/access.TestMistakesLetNobodyIn"},
	{"Passwords are compared one at a time",
		"app/access.TestKnownLoginsPassWhileOthersGuess app/access.TestUnknownUsersTakeAsLong"},
	{"More of them wait", "app/service.TestConnectionsAreBounded"},
	{"One without a request is closed after 5 s", "app/service.TestConnectionsAreBounded"},
	{"names of loopback and `http.hosts` only",
		"app/service.TestGuardOfNames"},
	{"a page of another site", "app/service.TestGuardOfOrigins app/service.TestGuardOfReferers"},
	{"not `application/json`", "app/service.TestGuardOfContentTypes"},

	{"**The schema registry**", ""},
	{"TLS closes that", ""},
	{"**Kafka and Redis.**", "consumer/broker.TestOtherServersAreRefused"},
	{"A broker or Redis that turns hostile later can end the process", ""},
	{"can write to Redis can decide verdicts", ""},
	{"take the service's next batch for a repeat", ""},
	{"ends in an error, not in a verdict", "redisindex.FuzzReplies redisindex.TestDamagedEntryIsSetAside"},
	{"smallest rights", "redisindex.TestRightsAreEnoughAndNoneTooMany redisindex.TestSecurityDocs " +
		"test/security.TestSecuredServers"},
	{"Configuration, dictionaries and the environment", ""},
	{"Passwords come from a file, the environment or the YAML file",
		"test/security.TestSecuredServers app/config.TestSecretsAreNotPrinted"},
	{"appear in no log, metric, error text or `config print`", "test/security.TestSecuredServers"},
	{"an address with a password is refused", "cmd/echosieve.TestConfigMistakes"},
	{"dependencies are pinned by `go.sum`", "test/deploy.TestComposeServices test/deploy.TestDockerfile"},
}

// TestPromises requires that each sentence of SECURITY.md is in the table, and that the tests of the table
// exist. A new sentence needs its row, and a new promise a test.
func TestPromises(t *testing.T) {
	_, sections, found := strings.Cut(host.Read(t, "SECURITY.md"), "## What is not trusted")
	require.True(t, found)
	used := map[string]bool{}
	for _, sentence := range sentencesOf(sections) {
		// it names its test itself; test/docs checks that the test exists
		matched := strings.Contains(sentence, "`Test")
		for _, p := range promises {
			if strings.Contains(sentence, p.phrase) {
				matched, used[p.phrase] = true, true
			}
		}
		assert.True(t, matched, "no row of promises has a phrase of this sentence: %s", sentence)
	}
	for _, p := range promises {
		assert.True(t, used[p.phrase], "SECURITY.md no longer says: %s", p.phrase)
		for _, name := range strings.Fields(p.tests) {
			at := strings.LastIndex(name, ".")
			require.True(t, testsOf(t, name[:at])[name[at+1:]], "%s does not exist; the promise was: %s", name,
				p.phrase)
		}
	}
}

// sentencesOf returns the sentences of a page: those of paragraphs and of items, and rows of tables.
func sentencesOf(page string) (sentences []string) {
	var block strings.Builder
	end := func() {
		text := strings.Join(strings.Fields(block.String()), " ")
		block.Reset()
		for text != "" {
			sentence, rest, _ := strings.Cut(text, ". ")
			sentences, text = append(sentences, sentence), rest
		}
	}
	for line := range strings.Lines(page) {
		switch line := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "## "), strings.HasPrefix(line, "|---"), line == "| what | bound |":
		case line == "", strings.HasPrefix(line, "- "), strings.HasPrefix(line, "|"):
			end()
			fallthrough
		default:
			block.WriteString(strings.TrimPrefix(line, "- ") + " ")
		}
	}
	end()
	return sentences
}

// testsOf returns the tests of a package that is named by its folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	names := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
