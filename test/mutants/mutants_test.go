// Package mutants shows that the tests of the index notice mistakes: each mutant is one mistake in package redisindex, or in the package
// that its file's path leads to, and a test must fail because of it. test/torture has the mutants of the delivery. To add
// a mutant: add the text that it replaces, and the cheapest test that notices it, to the list.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/loopback"
)

// mutant is a mistake and the test that must fail.
type mutant struct {
	name  string
	edits []edit
	run   string // pattern for go test -run; before it can stand, with a space, a directory below package redisindex
}

// edit replaces text in a file, whose path starts from package redisindex; find must occur exactly once.
type edit struct{ file, find, replace string }

const (
	interleaving = "^TestInterleaving$/^Mini$"
	contract     = "^TestContract$/^Mini$"
	takingOver   = "^TestRealKafka$/^4.3.1$/^take-over$"

	fenceFirst    = "	if err := t.fence(ctx, positions); err != nil {\n		return nil, err\n	}\n"
	markerMissing = "		if next > offset {\n			retry.reset()\n"
	endIsEnough   = "		if err == nil && next == offset {\n			return next, nil\n		}\n" + markerMissing
)

var mutants = []mutant{
	{"looks-up-before-it-stores", []edit{
		{"claim.go", "	return added()\n", "	pipe = x.client.Pipeline()\n	c.early = c.queueLookups(ctx, pipe, c.tasks)\n	if err := c.exec(ctx, \"look_up\", pipe); err != nil {\n		return err\n	}\n	return added()\n"},
		{"claim.go", "	call       *call\n", "	call       *call\n	early      *lookups\n"},
		{"lookup.go", "l := c.queueLookups(ctx, pipe, open)", "l := c.early"},
		{"lookup.go", "c.seen[slice] || x.slices.known(slice)}", "true}"},
	}, interleaving},
	{"draws-tickets-before-it-stores-entries", []edit{
		{"index.go", "{c.storeLists, c.storeEntries, c.drawTickets,", "{c.drawTickets, c.storeLists, c.storeEntries,"},
	}, interleaving},
	{"stores-entries-before-lists", []edit{
		{"index.go", "{c.storeLists, c.storeEntries,", "{c.storeEntries, c.storeLists,"},
	}, "^TestNodeAwayDuringStore$"},
	{"lists-from-before-a-ticket-was-given", []edit{
		{"lookup.go", "again = givenByOther || foundSlice", "again = foundSlice || givenByOther && false"},
	}, "^TestGivenATicketWhileItLooksUp$"},
	{"looks-up-only-in-slices-that-it-knows", []edit{
		{"lookup.go", "again = givenByOther || foundSlice", "again = givenByOther || foundSlice && false"},
	}, interleaving},
	{"replays-forget-the-counter", []edit{
		{"claim.go", "pipe.Expire(ctx, x.keys.Sequence(), 2*x.layout.Lifetime)", "_ = x"},
	}, "^TestCounterOutlivesReplayedEntries$"},
	{"ignores-tickets", []edit{
		{"lookup.go", "return r.Ticket == 0 || !r.Before(&t.Entry) || r.Ticket == keyspace.MaxTicket", "return false"},
	}, interleaving},
	{"gives-no-tickets", []edit{
		{"lookup.go", "if r.Ticket == 0 && !seen[r.Entry]", "if false && !seen[r.Entry]"},
	}, interleaving},
	{"no-decide", []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, _ = t.proposal, verdict"},
	}, interleaving},
	{"last-verdict-wins", []edit{
		{"lua/decide.lua", "if len > head then return string.sub(value, pos + head, pos + len - 1) end", "value, len = string.sub(value, 1, pos + head - 1) .. string.sub(value, pos + len), head"},
	}, interleaving},
	{"root-early", []edit{
		{"decide.go", "return article.Ref{}, false, nil", "return r.Ref(), true, nil"},
	}, interleaving},
	{"decide-any", []edit{
		{"lua/decide.lua", "if field == ARGV[1] and string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 1 end", ""},
	}, "^TestVerdictOfAWithdrawnTicketIsNotWritten$"},
	{"batches-wait-as-a-whole", []edit{
		{"decide.go", "case len(ready) > 0:", "case len(ready) > 0 && len(awaited) == 0:"},
	}, "^TestClaimsDoNotWaitAsAWhole$"},
	{"waits-without-end", []edit{
		{"decide.go", "return now.Sub(since) >= c.x.cfg.UndecidedTimeout", "return false && now.Sub(since) > 0"},
	}, "^TestUndecidedOriginalIsWithdrawn$"},
	{"waits-for-itself", []edit{
		{"decide.go", "if c.comesLater(r.Coordinates) {", "if false {"},
	}, "^TestDoesNotWaitForItself$"},
	{"damage-is-taken-for-the-end", []edit{
		{"keyspace/lua/find.lua", "error('ECHOSIEVE_DAMAGED', 0)", "break"},
	}, "^TestDamagedOwnEntry$"},
	{"keeps-the-farthest", []edit{
		{"nearest.go", "if c.distance == n.cutoff {\n\t\t\treturn", "if true {\n\t\t\treturn"},
	}, "^TestNearest$"},
	{"candidates-twice", []edit{
		{"nearest.go", "if slices.Contains(n.byBits[c.distance], c) {", "if slices.Contains(n.byBits[c.distance], c) && false {"},
	}, "^TestNearest$"},
	{"last-ticket-wins", []edit{
		{"lua/ticket.lua", "if has_ticket(held) or", "if"},
	}, interleaving},
	{"number-below-a-withdrawn-ticket", []edit{
		{"lua/ticket.lua", " or held > 0 and number(ARGV[3]) <= held - withdrawn then", " then"},
	}, "^TestNumberBelowAWithdrawnTicketIsNotSet$/^Mini$"},
	{"crowded-out-keeps-its-turn", []edit{
		{"lua/ticket.lua", "if field ~= ARGV[1] then return string.rep(string.char(255), 6) end", ""},
	}, interleaving},
	{"replay-does-not-know-its-own-record", []edit{
		{"claim.go", "if e.Coordinates == t.Coordinates {", "if false {"},
	}, interleaving},
	{"repeat-of-undecided-guesses-its-root", []edit{
		{"claim.go", "article.ExactVerdict(o.Ref(), verdict.Root)", "article.ExactVerdict(o.Ref(), o.Ref())"},
	}, contract + "/^ExactRepeats$"},
	{"restored-articles-lose-their-position", []edit{
		{"admin/restore.go", "return RestoredHidden, nil", "return RestoredHeld, nil"},
	}, "admin ^TestRestore$/^Mini$"},
	{"refill-leaves-articles-undecided", []edit{
		{"admin/lua/restore.lua", "elseif len == head and", "elseif false and"},
	}, "^TestRestoreDecidesForAnother$"},
	{"refused-articles-stay-originals", []edit{
		{"retract.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if false {"},
	}, contract + "/^Retract$"},
	{"a-refused-repeat-hides-its-original", []edit{
		{"retract.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if !s.Hidden {"},
	}, contract + "/^Retract$"},
	{"replays-of-hidden-entries-are-new", []edit{
		{"lua/store.lua", "find(value, digest, hidden)", "find(value, digest)"},
	}, "admin ^TestHide$/^Mini$"},
	{"hidden-entries-have-repeats", []edit{
		{"keyspace/entry.go", "return hidden[:]", "return append(hidden[:0], e.Digest[:]...)"},
	}, "admin ^TestHide$/^Mini$"},
	{"copy-of-its-copy", []edit{
		{"decide.go", "if root.Coordinates == t.Coordinates {", "if false {"},
	}, "^TestLostOriginalStaysUnique$"},
	{"entries-never-expire", []edit{
		{"lua/store.lua", "prolong(key, ARGV[5])", ""},
		{"claim.go", "pipe.Expire(ctx, key, x.layout.Lifetime)", ""},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"lists-never-expire", []edit{
		{"lua/add.lua", "if is_new then prolong(key, ARGV[1]) end", ""},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"lists-expire-although-they-are-written", []edit{
		{"lua/prolong.lua", "left < tonumber(seconds)", "false"},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"slices-never-expire", []edit{
		{"claim.go", `pipe.HSet(ctx, key, "", "")` + "\n\t\t\tpipe.Expire(ctx, key, 2*c.x.layout.Lifetime)", `pipe.HSet(ctx, key, "", "")`},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"window-edge-outside", []edit{
		{"keyspace/layout.go", "<= l.windowMs", "< l.windowMs"},
	}, contract + "/^WindowEdges$"},
	{"only-earlier-slices", []edit{
		{"keyspace/layout.go", "l.Slice(saturate(ms, l.windowMs))", "l.Slice(ms)"},
	}, contract + "/^WindowEdges$"},
	{"little-texts-collapse", []edit{
		{"keyspace/entry.go", "e.LittleText = raw[formAt]&flagLittle != 0", "_ = raw"},
	}, contract + "/^LittleText$"},
	{"look-alikes-before-copies", []edit{
		{"decide.go", "if !r.judged.Kind.IsCopy() {", "if r.judged.Kind == 0 {"},
	}, contract + "/^SecondCheck$"},
	{"destination-by-the-policy-of-today", []edit{
		{"claim.go", "verdicts[i] = t.verdict\n", "verdicts[i] = t.verdict\n		verdicts[i].Destination = c.x.policy.Load().Destination(article.Judgement{Kind: t.verdict.Kind, Likeness: t.verdict.Likeness})\n"},
	}, "^TestChangeOfPolicy$/^Mini$"},
	{"own-destination-wins", []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, t.verdict.Destination = verdict, t.proposal.Destination"},
	}, "^TestTwoPolicies$/^Mini$"},
	{"revisions-of-another-article", []edit{
		{"lookup.go", "if r.judged.SameID != s.judged.SameID {", "if false {"},
	}, contract + "/^SameID$"},
	{"no-probes", []edit{
		{"lookup.go", "x.layout.Plan.AppendLookups(blocks, &t.Article)", "x.layout.Plan.AppendStored(blocks, &t.Article)"},
	}, contract + "/^Probes$"},
	{"no-anchors", []edit{
		{"lookup.go", "x.layout.Plan.AppendLookups(blocks, &t.Article)", "func(a article.Article) []simhash.Block { a.Anchors = nil; return x.layout.Plan.AppendLookups(nil, &a) }(t.Article)"},
	}, contract + "/^Anchors$"},
	{"blocks-reach-as-far-as-anchors", []edit{
		{"nearest.go", "n.filter.Accepts(ref.Block, other, d)", "n.filter.Accepts(4, other, d)"},
	}, contract + "/^Reach$"},
	{"anchors-reach-no-farther-than-blocks", []edit{
		{"nearest.go", "n.filter.Accepts(ref.Block, other, d)", "n.filter.Accepts(0, other, d)"},
	}, contract + "/^Reach$"},
	{"two-lists-are-no-more-than-one", []edit{
		{"nearest.go", "n.filter.Accepts(ref.Block, other, d)", "func() bool { n.filter.Reset(); return n.filter.Accepts(ref.Block, other, d) }()"},
	}, contract + "/^Reach$"},
	{"stored-without-anchors", []edit{
		{"lists.go", "c.x.layout.Plan.AppendStored(blocks[:0], &t.Article)", "c.x.layout.Plan.Layout.AppendBlocks(blocks[:0], t.Fingerprint)"},
	}, contract + "/^Anchors$"},
	{"lists-without-end", []edit{
		{"lua/add.lua", "if #list > most then", "if false then"},
	}, "^TestFullList$"},
	{"full-lists-lose-the-newest", []edit{
		{"lua/add.lua", "string.sub(list, #list - most + 1)", "string.sub(list, 1, most)"},
	}, "^TestFullList$"},
	{"lists-are-written-as-they-were", []edit{
		{"lua/add.lua", "if list ~= before then", "if not before then"},
	}, "^TestAddToLists$/^Mini$"},
	{"sets-never-expire", []edit{
		{"lists.go", "pipe.Expire(ctx, key, s.x.layout.Lifetime)", ""},
	}, "^TestEveryKeyExpires$/^MiniSets$"},
	{"sets-are-read-whole", []edit{
		{"keyspace/blocklists.go", "k.ListSet(ref), MaxMembers)", "k.ListSet(ref), 1<<30)"},
	}, "^TestLongSet$/^Mini$"},
	{"unsigned-members", []edit{
		{"lists.go", "args = append(args, int64(fp))", "args = append(args, uint64(fp))"},
	}, "^TestSetsCanBeRead$"},
	{"kinds-share-their-keys", []edit{
		{"keyspace/layout.go", "kind = BucketsSets", "_ = BucketsSets"},
	}, "^TestKindsNeverMeet$"},
	{"does-not-wait-for-replicas", []edit{
		{"connection/replication.go", "wait.Val() < int64(r.replicas)", "wait.Val() < 0"},
	}, "^TestTooFewReplicas$/^Single$"},
	{"believes-a-master-without-replicas", []edit{
		{"connection/replication.go", "append(slices.Clip(cmds), fence, wait)", "append(slices.Clip(cmds), wait)"},
	}, "^TestReadsNeedReplicas$"},
	{"forgets-replicas-of-a-cluster", []edit{
		{"connection/replication.go", "cluster.OnNewNode(func(node *redis.Client) { node.AddHook(r) })", "_ = cluster"},
	}, "^TestTooFewReplicas$/^Cluster$"},
	{"straddling-members", []edit{
		{"lua/add.lua", "while at and (at - 1) % size ~= 0 do", "while false do"},
	}, "^TestAddToLists$/^Mini$"},
	{"lists-of-anchors-and-blocks-are-mixed-up", []edit{
		{"lookup.go", "uint64(b.Index)<<34", "uint64(b.Index)<<32"},
	}, "^TestLookupsOfAClaim$"},
	{"members-twice", []edit{
		{"lua/add.lua", "if not at and not new[fingerprint] then", "if not new[fingerprint] then"},
	}, "^TestKeysStayCompact$"},
	{"members-twice-in-a-claim", []edit{
		{"lua/add.lua", "if not at and not new[fingerprint] then", "if not at then"},
	}, "^TestAddToLists$/^Mini$"},
	{"scripts-for-lua-5.1-only", []edit{
		{"lua/add.lua", "local unpack = table.unpack or unpack", ""},
	}, "^TestScriptsRunInLua54$"},
	{"no-witnesses", []edit{
		{"index.go", "c.addWitnesses(start)", "_ = start"},
	}, "watch ^TestDeletedKeysAreNoticedOrHarmless$/^packed_o$"},
	{"witnesses-of-entries-only", []edit{
		{"watch/witnesses.go", "case slices.ContainsFunc(k.lists", "case false && slices.ContainsFunc(k.lists"},
	}, "watch ^TestDeletedKeysAreNoticedOrHarmless$/_[bs]$"},
	{"witnesses-never-expire", []edit{
		{"watch/witnesses.go", "return !now.Before(k.until)", "return false"},
	}, "watch ^TestWitnessesAreASample$"},
	{"candidates-without-entries-are-ordinary", []edit{
		{"watch/monitor.go", "if gaps && !m.l.watermarks.hasLoss(time.Now()) {", "if gaps && false {"},
	}, "watch ^TestEntriesDeletedWhileTheServiceWasStopped$/^packed$"},
	{"traces-of-a-known-loss-are-a-new-one", []edit{
		{"watch/monitor.go", "if gaps && !m.l.watermarks.hasLoss(time.Now()) {", "if gaps {"},
	}, "watch ^TestTracesOfAKnownLoss$"},
	{"a-refill-cures-later-losses", []edit{
		{"watch/watermarks.go", "return w.cured > 0 && w.cured >= w.lastLossAt()", "return w.cured > 0"},
	}, "watch ^TestCure$"},
	{"a-refill-cures-what-it-left-out", []edit{
		{"admin/refill.go", "if cured = gap.Err() != nil ||", "if cured = true || gap.Err() != nil ||"},
	}, "watch ^TestCure$"},
	{"a-refill-goes-on-where-it-never-was", []edit{
		{"admin/refill.go", "if r.From <= from && from <= r.To {", "if from <= r.To {"},
	}, "admin ^TestRefillProgress$"},
	{"waits-for-ever-in-readyz", []edit{
		{"index.go", "defer c.served()", "_ = c"},
	}, "^TestWaitsForRedis$"},
	{"one-call-speaks-for-all", []edit{
		{"../internal/app/service/health.go", "delete(c.waits, call)", "clear(c.waits)"},
	}, "^TestHealthChanges$"},
	{"blind-to-another-process", []edit{
		{"watch/reporter.go", "if r.committed == nil || before[partition] == commit {", "if before[partition] != commit || true {"},
	}, "watch ^TestReporter$"},
	{"blind-to-another-index", []edit{
		{"watch/handover.go", "if !ok || label.Index.Same(h.index) || now.Sub(label.Seen) >= h.window {", "if ok || !ok || at.Offset >= 0 {"},
	}, "watch ^TestLack$"},
	{"takes-the-end-for-the-marker", []edit{
		{"../consumer/readback.go", markerMissing, endIsEnough},
	}, takingOver},
	{"positions-past-what-was-found", []edit{
		{"../consumer/ownership.go", "if o.acknowledged.len > 0 && next <= o.acknowledged.highest {", "if false {"},
	}, takingOver},
	{"reads-batches-of-others", []edit{
		{"../consumer/readback.go", "case by.ID == t.as.ID || by.ID == pid && pid != wire.NoProducerID:", "default:"},
	}, takingOver},
	{"owner-raises-its-epoch", []edit{
		{"../consumer/sender.go", "return own.identity() })", "return &ownIdentity{ids: s.ids, as: own.as} })"},
	}, takingOver},
	{"sends-old-batches-again", []edit{
		{"../consumer/writer.go", "return time.Since(latest) <= f.memory/renewalsInMemory", "return true"},
	}, "^TestOldBatchesAreNotSentAgain$"},
	{"takes-over-without-a-fence", []edit{
		{"../consumer/takeover.go", fenceFirst, ""},
		{"../consumer/readback.go", markerMissing, endIsEnough},
	}, takingOver},
	{"reads-before-the-fence", []edit{
		{"../consumer/takeover.go", fenceFirst, ""},
		{"../consumer/readback.go", markerMissing, endIsEnough},
		{"../consumer/takeover.go", "	crashpoint.Here(crashpoint.AfterReadBack)\n", fenceFirst},
	}, takingOver},
	{"waits-for-a-forgotten-marker", []edit{
		{"../consumer/readback.go", "} else if time.Now().After(deadline) {", "} else if false && time.Now().After(deadline) {"},
	}, takingOver},
	{"keeps-its-epoch", []edit{
		{"../consumer/takeover.go", "	t.node = -1\n	err := t.ask(", "	if t.begun {\n		return nil\n	}\n	t.node = -1\n	err := t.ask("},
	}, takingOver},
	{"positions-of-another-moment", []edit{
		{"../consumer/partition.go", "return ownerWords(p.own.as, m.positions)", "return ownerWords(p.own.as, p.own.positions(m.next, p.writers))"},
	}, "^TestPositionsBelongToTheirMark$"},
	{"looks-in-one-topic-only", []edit{
		{"../consumer/partition.go", "return p.own.acknowledged.has(o.Record.Offset) })", "return p.own.acknowledged.has(o.Record.Offset) && o.Destination == 0 })"},
	}, "^TestRealKafka$/^4.3.1$/^lost_verdicts$"},
	{"commits-for-any-generation", []edit{
		{"../consumer/cluster.go", "GenerationID: int(gen.ID), MemberID: gen.MemberID,", "GenerationID: -1,"},
	}, "^TestRealKafka$/^4.3.1$/^late_commit$"},
	{"forgets-former-outputs", []edit{
		{"../consumer/readback.go", "missingFrom(committed, positions))\n	if err", "nil)\n	if err"},
	}, "^TestRealKafka$/^4.3.1$/^changed_outputs$"},
	{"never-renews-its-fence", []edit{
		{"../consumer/ownership.go", "case time.Since(own.fencedAt) >= p.c.renewalInterval(), ", "case "},
	}, "^TestForgetfulBrokers$/^4.3.1$"},
	{"owner-chooses-its-epoch", []edit{
		{"../consumer/writer.go", "func (fencedIdentity) renew() error { return errStandingLost }", "func (fencedIdentity) renew() error { return nil }"},
	}, "^TestFencedWritersLoseTheirStanding$"},
	{"fenced-owner-goes-on", []edit{
		{"../consumer/writer.go", "	if react(err) == leave {\n		return errTakenOver\n	}\n	return errStandingLost\n", "	_ = err\n	return errStandingLost\n"},
	}, "^TestFencedWritersLoseTheirStanding$"},
}

// test returns the directory of the package whose tests must notice the mutant, from package redisindex, and the pattern of the tests. If run
// names no directory, it is redisindex or, for a file outside of it, the directory of the file.
func (m mutant) test() (dir, run string) {
	if dir, run, found := strings.Cut(m.run, " "); found {
		return dir, run
	}
	if file := m.edits[0].file; strings.HasPrefix(file, "../") {
		return filepath.Dir(file), m.run
	}
	return ".", m.run
}

func TestMutants(t *testing.T) {
	loopback.SkipShort(t)
	source, err := filepath.Abs("../../redisindex")
	require.NoError(t, err)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel() // some tests notice a mistake by waiting
			dir, run := m.test()
			cmd := exec.CommandContext(t.Context(), build(t, source, m), "-test.timeout=10m", "-test.failfast", "-test.run", run)
			cmd.Dir = filepath.Join(source, dir)
			cmd.Env = append(os.Environ(), "ECHOSIEVE_TEST_SCHEDULES=4000")
			output, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "no test noticed the mistake:\n%s", output)
			// A test that does not start, or that panics elsewhere, proves nothing.
			require.True(t, strings.Contains(string(output), "--- FAIL: Test"), "%s", output)
			t.Logf("%s", output)
		})
	}
}

// The edits of all mutants fit the code.
func TestMutantsFitTheCode(t *testing.T) {
	source, err := filepath.Abs("../../redisindex")
	require.NoError(t, err)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { write(t, source, m.edits) })
	}
}

// build returns the tests of the mutated package as a binary. Without optimizations and debug information the compiler takes half as long.
func build(t *testing.T, source string, m mutant) string {
	binary := filepath.Join(t.TempDir(), "package.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w", "-overlay", write(t, source, m.edits), "-o", binary, ".")
	dir, _ := m.test()
	cmd.Dir = filepath.Join(source, dir)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}

// write writes the mutated files and an overlay for the go command that replaces the real files by them. It returns the overlay's path.
func write(t *testing.T, source string, edits []edit) string {
	dir := t.TempDir()
	replace := map[string]string{}
	for _, e := range edits {
		file := filepath.Join(source, e.file)
		path, changed := replace[file]
		if !changed {
			path = file
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), e.find), "%q in %s", e.find, e.file)
		replace[file] = filepath.Join(dir, filepath.Base(e.file))
		require.NoError(t, os.WriteFile(replace[file], []byte(strings.Replace(string(text), e.find, e.replace, 1)), 0o600))
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, data, 0o600))
	return overlay
}
