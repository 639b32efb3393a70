package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"echosieve/test/host"
)

const (
	releaseVersion = "v9.8.7-3-gabcdef0"
	releaseDebian  = "9.8.7+3+gabcdef0"
	releaseName    = "echosieve-" + releaseVersion + "-linux-amd64"
)

// mostBytes is the largest service that we ship: a list of imports does not show why a program is large (see
// command.printUsage). OpenTelemetry takes 1.0 MB of it, the SDK of the Model Context Protocol 1.2 MB, the dictionaries
// 4.1 MB.
const mostBytes = 30_600_000

// release builds what make release builds, for amd64 alone, and returns the folder.
func release(t *testing.T) string {
	t.Helper()
	host.All(t) // links six programs
	dir := t.TempDir()
	output(t, host.Root(t), "deploy/release/build.sh", releaseVersion, dir, "amd64")
	return dir
}

// output runs a program in a folder, requires its success, and returns what it prints.
func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	return outputOf(t.Context(), t, dir, program, args...)
}

func outputOf(ctx context.Context, t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v\n%s%s", program, args, out, &stderr)
	return string(out)
}

// have skips a check, not the test, on a machine without a program.
func have(t *testing.T, program string) bool {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil {
		t.Logf("not checked: %s is missing", program)
	}
	return err == nil
}

func TestRelease(t *testing.T) {
	dir := release(t)
	commit, err := strconv.ParseInt(
		strings.TrimSpace(output(t, host.Root(t), "git", "log", "-1", "--format=%ct")), 10, 64)
	require.NoError(t, err)
	tree := t.TempDir()
	modes := unpack(t, gunzip(t, filepath.Join(dir, releaseName+".tar.gz")), tree, time.Unix(commit, 0))

	t.Run("checksums", func(t *testing.T) { checkChecksums(t, dir) })
	t.Run("archive", func(t *testing.T) { checkArchive(t, filepath.Join(tree, releaseName), modes) })
	deb := filepath.Join(dir, "echosieve_"+releaseDebian+"_amd64.deb")
	t.Run("package", func(t *testing.T) { checkPackage(t, deb, time.Unix(commit, 0)) })
	t.Run("chart", func(t *testing.T) { checkChart(t, dir, time.Unix(commit, 0)) })
	t.Run("signatures", func(t *testing.T) { checkSignatures(t, dir) })
	t.Run("wheel", func(t *testing.T) { checkWheel(t, dir) })
	t.Run("reproducible", func(t *testing.T) {
		again := exec.CommandContext(t.Context(), "sh", "-c",
			"umask 077; TZ=Asia/Tokyo exec deploy/release/build.sh "+releaseVersion+" '"+tree+"/again' amd64")
		again.Dir = host.Root(t)
		out, err := again.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, string(contents(t, dir, "SHA256SUMS")), string(contents(t, tree, "again/SHA256SUMS")))
	})
}

// checkWheel installs the wheel as a user does. Its command runs, its own tests pass, its types hold where an example
// uses them, and an agent's client in Python asks it for stories.
func checkWheel(t *testing.T, dir string) {
	wheels, err := filepath.Glob(filepath.Join(dir, "echosieve-*-py3-none-manylinux*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	venv := filepath.Join(t.TempDir(), "venv")
	output(t, dir, "python3", "-m", "venv", venv)
	bin, python := filepath.Join(venv, "bin"), filepath.Join(host.Root(t), "deploy/python")
	output(t, dir, filepath.Join(bin, "pip"), "install", "--quiet", wheels[0], "pytest", "mypy", "scrapy", "mcp")
	require.Contains(t, output(t, dir, filepath.Join(bin, "echosieve"), "--version"), "echosieve "+releaseVersion+" ")
	output(t, t.TempDir(), filepath.Join(bin, "pytest"), "-p", "no:cacheprovider", "--import-mode=importlib",
		filepath.Join(python, "test_echosieve.py"))
	output(t, t.TempDir(), filepath.Join(bin, "mypy"), "--strict", filepath.Join(python, "test_echosieve.py"))
	crawled := output(t, t.TempDir(), filepath.Join(bin, "python"), "-c", crawl, filepath.Join(python, "../examples"))
	require.Equal(t, "scraped 2, dropped 1\n", crawled)
	again, told := filepath.Join(t.TempDir(), "again.jsonl"), filepath.Join(t.TempDir(), "stories.jsonl")
	const report = `{"text":"The harbour master reports that the bridge is open again"}` + "\n"
	require.NoError(t, os.WriteFile(again, []byte(report+report), 0o600))
	output(t, dir, filepath.Join(bin, "echosieve"), "filter", "--stories", told, again)
	asked := output(t, dir, filepath.Join(bin, "python"), "-c", agent, filepath.Join(bin, "echosieve"), told)
	require.Equal(t, "changes explain look publishers stories story 1\n", asked)
}

// agent asks for stories as an agent does, with the client of the Model Context Protocol in Python.
const agent = `
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "--stories", sys.argv[2]])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = sorted(tool.name for tool in (await session.list_tools()).tools)
        answer = await session.call_tool("stories", {"limit": 3})
        print(*tools, len(json.loads(answer.content[0].text)["stories"]))

asyncio.run(main())
`

// crawl has Scrapy run its pipeline on three items, of which one is a copy.
const crawl = `
import sys
sys.path.insert(0, sys.argv[1])
import scrapy
from scrapy.crawler import CrawlerProcess

class Items(scrapy.Spider):
    name = "items"
    start_urls = ["data:,"]
    custom_settings = {"ITEM_PIPELINES": {"scrapy_pipeline.DropCopies": 300}, "LOG_ENABLED": False}

    def parse(self, response):
        for n in (1, 2, 1):
            yield {"id": str(n), "text": f"Report {n} of the harbour master on the bridge and its piers"}

process = CrawlerProcess()
crawler = process.create_crawler(Items)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(f"scraped {stats['item_scraped_count']}, dropped {stats['item_dropped_count']}")
`

func gunzip(t *testing.T, path string) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(contents(t, "", path)))
	require.NoError(t, err)
	return z
}

// unpack writes the files of an archive into a folder and returns their modes by name. All have the time of
// the commit and belong to root.
func unpack(t *testing.T, archive io.Reader, dir string, commit time.Time) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return modes
		}
		require.NoError(t, err)
		require.True(t, h.ModTime.Equal(commit), "%s: %s", h.Name, h.ModTime)
		require.Zero(t, h.Uid+h.Gid, h.Name)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.EqualValues(t, tar.TypeReg, h.Typeflag, h.Name)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, h.FileInfo().Mode()|0o200))
		modes[strings.TrimPrefix(filepath.Clean(h.Name), releaseName+"/")] = h.FileInfo().Mode()
	}
}

func checkChecksums(t *testing.T, dir string) {
	named := map[string]string{"SHA256SUMS": ""}
	for line := range strings.Lines(string(contents(t, dir, "SHA256SUMS"))) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		actual := sha256.Sum256(contents(t, dir, name))
		require.Equal(t, hex.EncodeToString(actual[:]), sum, name)
		named[name] = sum
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, named, len(files))
	require.Len(t, files, 8, "archive, two packages, wheel, two bills of materials, chart, checksums")
}

// checkChart opens the chart, which must have files where the repository has links, and versions of the release.
func checkChart(t *testing.T, dir string, commit time.Time) {
	tree := t.TempDir()
	unpack(t, gunzip(t, filepath.Join(dir, "echosieve-"+releaseVersion[1:]+".tgz")), tree, commit)
	chart := string(contents(t, tree, "echosieve/Chart.yaml"))
	require.Contains(t, chart, "\nversion: "+releaseVersion[1:]+"\nappVersion: \""+releaseVersion+"\"\n")
	require.Contains(t, chart, "\nhome: https://echosieve.invalid\n")
	require.Equal(t, host.Read(t, "deploy/prometheus/alerts.yml"),
		string(contents(t, tree, "echosieve/files/alerts.yml")))
}

// checkSignatures signs the release with a key of the test, as make release does with that of the maintainers, and
// checks each file as a user does. The provenance names all files.
func checkSignatures(t *testing.T, dir string) {
	keys := t.TempDir()
	output(t, keys, "openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key")
	output(t, keys, "openssl", "pkey", "-in", "key", "-pubout", "-out", "public")
	signed := t.TempDir()
	require.NoError(t, os.CopyFS(signed, os.DirFS(dir)))
	cmd := exec.CommandContext(t.Context(), "deploy/release/sign.sh", releaseVersion, signed)
	cmd.Dir, cmd.Env = host.Root(t), append(os.Environ(), "RELEASE_KEY="+string(contents(t, keys, "key")))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	const provenance = "echosieve-" + releaseVersion + ".intoto.jsonl"
	check := func(name string, signature []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(keys, "signature"), signature, 0o600))
		output(t, keys, "openssl", "dgst", "-sha256", "-verify", "public", "-signature", "signature",
			filepath.Join(signed, name))
	}
	var envelope struct {
		PayloadType string
		Payload     []byte
		Signatures  []struct{ Sig []byte }
	}
	require.NoError(t, json.Unmarshal(contents(t, signed, provenance), &envelope))
	require.NoError(t, os.WriteFile(filepath.Join(signed, "signed"), fmt.Appendf(nil, "DSSEv1 %d %s %d %s",
		len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload), 0o600))
	check("signed", envelope.Signatures[0].Sig)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		text, err := base64.StdEncoding.DecodeString(string(contents(t, signed, f.Name()+".sig")))
		require.NoError(t, err)
		check(f.Name(), text)
		require.True(t, f.Name() == "SHA256SUMS" || strings.Contains(string(envelope.Payload), `"`+f.Name()+`"`))
	}
}

// Actions run with the rights of the workflow, so each is a commit that cannot move. The gate runs on the image whose
// compiler builds the container.
func TestWorkflows(t *testing.T) {
	workflows := host.Files(t, ".github/workflows/*.yml")
	require.Len(t, workflows, 3)
	uses := regexp.MustCompile(`(?m)\buses: (.*)$`)
	pinned := regexp.MustCompile(`^(\./\.github/workflows/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v[\d.]+)$`)
	for _, path := range workflows {
		text := host.Read(t, path)
		var workflow struct{ Permissions map[string]string }
		require.NoError(t, yaml.Unmarshal([]byte(text), &workflow), path)
		require.Equal(t, map[string]string{"contents": "read"}, workflow.Permissions, path)
		found := uses.FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, found, path)
		for _, m := range found {
			require.Regexp(t, pinned, m[1], path)
		}
	}
	image := regexp.MustCompile(`FROM (golang:\S+)`).FindStringSubmatch(host.Read(t, "deploy/Dockerfile"))[1]
	require.Contains(t, host.Read(t, ".github/workflows/gate.yml"), "container: "+image+" ")
	for _, path := range append(host.Files(t, ".github/ISSUE_TEMPLATE/*.yml"), ".github/dependabot.yml") {
		require.NoError(t, yaml.Unmarshal([]byte(host.Read(t, path)), new(map[string]any)), path)
	}
}

func checkArchive(t *testing.T, dir string, modes map[string]fs.FileMode) {
	for _, name := range []string{
		"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "deploy/echosieve.reference.yaml", "deploy/prometheus/alerts.yml",
		"deploy/grafana/dashboards/echosieve.json", "deploy/k8s/base/deployment.yaml", "docs/runbook.md",
		"docs/console.png", "echosieve.service", "man/man1/echosieve-run.1", "man/man1/echosieve-lab-demo.1",
		"completions/echosieve.bash", "completions/_echosieve", "completions/echosieve.fish",
		"completions/echosieve-lab.bash",
	} {
		require.Equal(t, fs.FileMode(0o644), modes[name], name)
	}
	for _, name := range []string{"echosieve", "echosieve-lab"} {
		require.Equal(t, fs.FileMode(0o755), modes[name])
		program := filepath.Join(dir, name)
		requireStatic(t, program)
		info, err := os.Stat(program)
		require.NoError(t, err)
		require.True(t, name != "echosieve" || info.Size() < mostBytes, "%d bytes", info.Size())
		require.Contains(t, output(t, dir, program, "--version"), name+" "+releaseVersion+" ")
		require.Error(t, exec.CommandContext(t.Context(), program, "man", t.TempDir()).Run(),
			"the generator of manual pages is not published")
	}
	output(t, dir, "bash", "-n", "completions/echosieve.bash")
	require.Contains(t, output(t, dir, "bash", "-c", "source completions/echosieve.bash; complete -p echosieve"),
		"__start_echosieve")
}

// checkPackage opens a Debian package with Debian's own tool and checks what it would install.
func checkPackage(t *testing.T, deb string, commit time.Time) {
	if !have(t, "dpkg-deb") {
		return
	}
	control := t.TempDir()
	output(t, control, "dpkg-deb", "--control", deb, "control")
	fields := string(contents(t, control, "control/control"))
	for _, line := range []string{"Package: echosieve", "Version: " + releaseDebian, "Architecture: amd64",
		"Depends: passwd"} {
		require.Contains(t, fields, line+"\n")
	}
	require.Equal(t, "/etc/echosieve/echosieve.yaml\n", string(contents(t, control, "control/conffiles")))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, control, "sh", "-n", "control/"+script)
	}
	require.Contains(t, string(contents(t, control, "control/postinst")), "useradd --system ")

	tree := t.TempDir()
	modes := unpack(t, bytes.NewReader([]byte(output(t, tree, "dpkg-deb", "--fsys-tarfile", deb))), tree, commit)
	for name, mode := range map[string]fs.FileMode{
		"usr/bin/echosieve": 0o755, "etc/echosieve/echosieve.yaml": 0o640,
		"usr/lib/systemd/system/echosieve.service":                0o644,
		"usr/lib/systemd/system/echosieve-stories.service":        0o644,
		"usr/share/doc/echosieve/copyright":                       0o644,
		"usr/share/doc/echosieve/deploy/echosieve.reference.yaml": 0o644,
		"usr/share/doc/echosieve/docs/runbook.md":                 0o644,
		"usr/share/doc/echosieve/deploy/prometheus/alerts.yml":    0o644,
		"usr/share/man/man1/echosieve-run.1.gz":                   0o644,
		"usr/share/bash-completion/completions/echosieve":         0o644,
		"usr/share/zsh/vendor-completions/_echosieve":             0o644,
		"usr/share/fish/vendor_completions.d/echosieve.fish":      0o644,
	} {
		require.Equal(t, mode, modes[name], name)
	}
	require.NotContains(t, modes, "usr/bin/echosieve-lab", "a server needs nothing of the lab")
	program := filepath.Join(tree, "usr/bin/echosieve")
	require.Contains(t, output(t, tree, program, "--version"), releaseVersion)
	settings := output(t, tree, program, "config", "print", "--config",
		filepath.Join(tree, "etc/echosieve/echosieve.yaml"))
	require.Contains(t, settings, "localhost:9092")
	checkUnit(t, tree, program)
	cited := regexp.MustCompile(`/usr/share/doc/\S+`).FindString(
		string(contents(t, tree, "etc/echosieve/echosieve.yaml")))
	require.FileExists(t, filepath.Join(tree, cited))
}

// checkUnit has systemd read the units, with the program at its place in the tree, and judge how much they allow. The
// unit of stories is that of the service with another command.
func checkUnit(t *testing.T, tree, program string) {
	const folder = "usr/lib/systemd/system/"
	unit := string(contents(t, tree, folder+"echosieve.service"))
	require.Equal(t, unit, string(contents(t, tree, folder+"echosieve-stories.service")))
	const stories = "echosieve-stories.service.d/stories.conf"
	other := string(contents(t, tree, folder+stories))
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (?:run|stories) --config (\S+)`)
	command := start.FindStringSubmatch(unit)
	require.NotNil(t, command)
	require.Equal(t, command[1:], start.FindStringSubmatch(other)[1:])
	require.Contains(t, other, "\nExecStart=\nExecStart=", "systemd would run both")
	require.FileExists(t, filepath.Join(tree, command[1]))
	require.FileExists(t, filepath.Join(tree, command[2]))
	require.Contains(t, unit, "\nExecReload=kill -HUP $MAINPID\n")
	require.Contains(t, unit, "\nUser=echosieve\n", "postinst creates this user")
	require.Contains(t, unit, "\nMemoryMax=512M\nEnvironment=GOMEMLIMIT=400MiB\n", "as in deploy/k8s")
	require.Contains(t, unit, "\nRestartPreventExitStatus=2\n", "a restart does not repair settings")
	require.Contains(t, unit, "\nEnvironment=GOTRACEBACK=crash\n", "without it a crash ends with exit code 2")
	if !have(t, "systemd-analyze") {
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, filepath.Dir(stories)), 0o755))
	for name, text := range map[string]string{"echosieve.service": unit, "echosieve-stories.service": unit,
		stories: other} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte(strings.ReplaceAll(text, command[1]+" ", program+" ")), 0o600))
	}
	for _, name := range []string{"echosieve.service", "echosieve-stories.service"} {
		path := filepath.Join(dir, name)
		output(t, dir, "systemd-analyze", "verify", "--man=no", path)
		// 0 is no exposure, 100 is that of a unit without any limits.
		output(t, dir, "systemd-analyze", "security", "--offline=true", "--threshold=20", path)
	}
}

func contents(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return data
}
