package mutants

// others are tested if a file that they change differs from the branch main, and with make test-all.
var others = []mistake{
	{"stories-count-an-offset-twice", "../stories/projector ^TestSchedules$/^Mini$", []edit{
		{"../stories/story.go", "case at.Offset <= s.highest[i].Offset:", "case false:"}}},
	{"stories-take-attributions-for-credits", "../stories/credit ^TestAttributionsAreNoCredits$", []edit{
		{"../stories/credit/forms.go", `case told && (last == '据' || strings.HasSuffix(form, "社")):`, "case told && false:"}}},
	{"stories-are-not-checked-again", "../stories/projector ^TestSchedules$/^Mini$", []edit{
		{"../stories/projector/store.go", "if e.Story != nil && state == e.state {", "if e.Story != nil {"}}},
	{"stories-publish-only-what-they-changed", "../stories/projector ^TestRepeatedBatchIsPublishedAgain$/^Mini$", []edit{
		{"../stories/projector/projector.go", "} else if t.Version() == before {",
			"} else if t.Version() == before {\n\t\t\tt.Story = stories.New(t.Of)"}}},
	{"changes-without-what-overlaps", "../stories/projector ^TestVersions$", []edit{
		{"../stories/projector/versions.go", "case article.Extends, article.Revises, article.Overlaps:",
			"case article.Extends, article.Revises:"}}},
	{"changes-between-publishers", "../stories/projector ^TestVersions$", []edit{
		{"../stories/projector/versions.go", "case verdict.Kind == article.Possible && (own",
			"case err != nil && (own"}}},
	{"stories-without-a-fence", "^TestStoriesFollowTheService$", []edit{
		{"../app/service/stories.go", "kafka.Delivery = broker.ExactlyOnce",
			"kafka.Delivery = broker.AtLeastOnce"}}},
	{"a-released-article-is-published-twice", "^TestRelease$", []edit{
		{"../app/release/release.go", "at, already, err = r.find(ctx, rec.Coordinates, from); already || err != nil {",
			"at, already, err = r.find(ctx, rec.Coordinates, from); err != nil {"}}},
	{"a-second-release-by-hand-is-unique", "../app/release ^TestRelease$", []edit{
		{"../pipeline/pipeline.go", "		release(&a, released)\n",
			"		of := released\n		of.Offset += r.Offset\n		release(&a, of)\n"}}},
	{"stores-entries-before-lists", "^TestNodeAwayDuringStore$", []edit{
		{"run.go", "{s.storeLists, s.storeEntries,", "{s.storeEntries, s.storeLists,"}}},
	{"lists-from-before-a-ticket-was-given", "^TestGivenATicketWhileItLooksUp$", []edit{
		{"lookup.go", "again = givenByOther || foundSlice", "again = foundSlice || givenByOther && false"}}},
	{"looks-up-only-in-slices-that-it-knows", interleaving, []edit{
		{"lookup.go", "again = givenByOther || foundSlice", "again = givenByOther || foundSlice && false"}}},
	{"replays-forget-the-counter", "^TestCounterOutlivesReplayedEntries$", []edit{
		{"store.go", "pipe.Expire(ctx, x.keys.Sequence(), 2*x.keys.Layout.Lifetime)", "_ = x"}}},
	{"ignores-tickets", interleaving, []edit{
		{"lookup.go", "return r.Ticket == 0 || !r.Before(&t.Entry) || r.Ticket == keyspace.MaxTicket", "return false"}}},
	{"gives-no-tickets", interleaving, []edit{
		{"lookup.go", "if r.Ticket == 0 && !seen[r.Entry]", "if false && !seen[r.Entry]"}}},
	{"decide-any", interleaving, []edit{
		{"lua/decide.lua", "if field == ARGV[1] and string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 1 end",
			""}}},
	{"batches-wait-as-a-whole", "^TestClaimsDoNotWaitAsAWhole$", []edit{
		{"decide.go", "case len(ready) > 0:", "case len(ready) > 0 && len(awaited) == 0:"}}},
	{"waits-for-itself", "^TestDoesNotWaitForItself$", []edit{
		{"decide.go", "if c.comesLater(r.Coordinates) {", "if false {"}}},
	{"damage-is-taken-for-the-end", "^TestDamagedEntryIsSetAside$/^Mini$", []edit{
		{"keyspace/lua/find.lua", "error('ECHOSIEVE_DAMAGED', 0)", "break"}}},
	{"keeps-the-farthest", "^TestNearest$", []edit{
		{"../pipeline/lookup/lookup.go", "if c.Distance == n.cutoff {\n\t\t\treturn", "if true {\n\t\t\treturn"}}},
	{"candidates-twice", "^TestNearest$", []edit{
		{"../pipeline/lookup/lookup.go", "if slices.Contains(n.byBits[c.Distance], c) {",
			"if slices.Contains(n.byBits[c.Distance], c) && false {"}}},
	{"last-ticket-wins", interleaving, []edit{
		{"lua/ticket.lua", "if has_ticket(held) or", "if"}}},
	{"number-below-a-withdrawn-ticket", "^TestNumberBelowAWithdrawnTicketIsNotSet$/^Mini$", []edit{
		{"lua/ticket.lua", " or held > 0 and number(ARGV[3]) <= held - withdrawn then", " then"}}},
	{"crowded-out-keeps-its-turn", interleaving, []edit{
		{"lua/ticket.lua", "if field ~= ARGV[1] then return string.rep(string.char(255), 6) end", ""}}},
	{"repeat-of-undecided-guesses-its-root", reference, []edit{
		{"claim.go", "article.ExactVerdict(o.Ref(), o.verdict.Root)", "article.ExactVerdict(o.Ref(), o.Ref())"}}},
	{"restored-articles-lose-their-position", "admin ^TestRestore$/^Mini$", []edit{
		{"admin/restore.go", "return RestoredHidden, nil", "return RestoredHeld, nil"}}},
	{"refill-leaves-articles-undecided", "^TestRestoreDecidesForAnother$", []edit{
		{"admin/lua/restore.lua", "elseif len == head and", "elseif false and"}}},
	{"refill-skips", "../cmd/echosieve/internal/index ^TestRefillReadsFurtherBack$", []edit{
		{"../app/refill/restore.go", "		if a == nil {\n", "		if a == nil || inputs[i].Offset%4 == 3 {\n"}}},
	{"a-refused-repeat-hides-its-original", contract + "/^Retract$", []edit{
		{"stored.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if !s.Hidden {"}}},
	{"replays-of-hidden-entries-are-new", "admin ^TestHide$/^Mini$", []edit{
		{"lua/store.lua", "find(value, digest, hidden)", "find(value, digest)"}}},
	{"hidden-entries-have-repeats", "admin ^TestHide$/^Mini$", []edit{
		{"keyspace/entry.go", "return hidden[:]", "return append(hidden[:0], e.Digest[:]...)"}}},
	{"lists-never-expire", "^TestEveryKeyExpires$/^Mini$", []edit{
		{"lua/add.lua", "if is_new then prolong(key, ARGV[1]) end", ""}}},
	{"lists-expire-although-they-are-written", "^TestEveryKeyExpires$/^Mini$", []edit{
		{"lua/prolong.lua", "left < tonumber(seconds)", "false"}}},
	{"slices-never-expire", "^TestEveryKeyExpires$/^Mini$", []edit{
		{"store.go", `pipe.HSet(ctx, key, "", "")` + "\n\t\t\tpipe.Expire(ctx, key, 2*c.x.keys.Layout.Lifetime)",
			`pipe.HSet(ctx, key, "", "")`}}},
	{"only-earlier-slices", contract + "/^WindowEdges$", []edit{
		{"keyspace/layout.go", "l.Slice(saturate(ms, l.windowMs))", "l.Slice(ms)"}}},
	{"little-texts-collapse", reference, []edit{
		{"keyspace/entry.go", "e.LittleText = raw[formAt]&flagLittle != 0", "_ = raw"}}},
	{"look-alikes-before-copies", reference, []edit{
		{"decide.go", "if !r.judged.Kind.IsCopy() {", "if r.judged.Kind == 0 {"}}},
	{"own-destination-wins", interleaving, []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, t.verdict.Destination = verdict, t.proposal.Destination"}}},
	{"revisions-of-another-article", reference, []edit{
		{"claim.go", "if r.judged.SameID != s.judged.SameID {", "if false {"}}},
	{"no-anchors", contract + "/^Anchors$", []edit{
		{"lookup.go", "x.keys.Layout.Plan.AppendLookups(blocks, &t.Article)",
			"func() []simhash.Block { a := t.Article; a.Anchors = nil; return x.keys.Layout.Plan.AppendLookups(nil, " +
				"&a) }()"}}},
	{"blocks-reach-as-far-as-anchors", "../pipeline/memindex ^TestContract$/^Reach$", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)", "n.filter.Accepts(4, other, d)"}}},
	{"anchors-reach-no-farther-than-blocks", "../pipeline/memindex ^TestContract$/^Reach$", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)", "n.filter.Accepts(0, other, d)"}}},
	{"two-lists-are-no-more-than-one", "../pipeline/memindex ^TestContract$/^Reach$", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)",
			"func() bool { n.filter.Reset(); return n.filter.Accepts(block, other, d) }()"}}},
	{"stored-without-anchors", contract + "/^Anchors$", []edit{
		{"lists.go", "c.x.keys.Layout.Plan.AppendStored(blocks[:0], &t.Article)",
			"c.x.keys.Layout.Plan.Layout.AppendBlocks(blocks[:0], t.Fingerprint)"}}},
	{"full-lists-lose-the-newest", "^TestFullList$", []edit{
		{"lua/add.lua", "string.sub(list, #list - most + 1)", "string.sub(list, 1, most)"}}},
	{"lists-are-written-as-they-were", "^TestAddToLists$/^Mini$", []edit{
		{"lua/add.lua", "if list ~= before then", "if not before then"}}},
	{"sets-never-expire", "^TestEveryKeyExpires$/^MiniSets$", []edit{
		{"lists.go", "pipe.Expire(ctx, key, c.x.keys.Layout.Lifetime)", ""}}},
	{"sets-are-read-whole", "^TestLongSet$/^Mini$", []edit{
		{"keyspace/blocklists.go", "k.List(ref), MaxMembers)", "k.List(ref), 1<<30)"}}},
	{"unsigned-members", "^TestSetsCanBeRead$", []edit{
		{"lists.go", "args = append(args, int64(fp))", "args = append(args, uint64(fp))"}}},
	{"kinds-share-their-keys", "^TestKindsNeverMeet$", []edit{
		{"keyspace/layout.go", "kind = BucketsSets", "_ = BucketsSets"}}},
	{"believes-a-master-without-replicas", "^TestReadsNeedReplicas$", []edit{
		{"connection/replication.go", "append(slices.Clip(cmds), fence, wait)", "append(slices.Clip(cmds), wait)"}}},
	{"forgets-replicas-of-a-cluster", "^TestTooFewReplicas$/^Cluster$", []edit{
		{"connection/replication.go", "cluster.OnNewNode(func(node *redis.Client) { node.AddHook(r) })", "_ = cluster"}}},
	{"straddling-members", "^TestAddToLists$/^Mini$", []edit{
		{"lua/add.lua", "while at and (at - 1) % size ~= 0 do", "while false do"}}},
	{"members-twice", "^TestKeysStayCompact$", []edit{
		{"lua/add.lua", "if not at and not new[fingerprint] then", "if not new[fingerprint] then"}}},
	{"members-twice-in-a-claim", "^TestAddToLists$/^Mini$", []edit{
		{"lua/add.lua", "if not at and not new[fingerprint] then", "if not at then"}}},
	{"scripts-for-lua-5.1-only", "^TestScriptsRunInLua54$", []edit{
		{"lua/add.lua", "local unpack = table.unpack or unpack", ""}}},
	{"no-witnesses", "watch ^TestDeletedKeysAreNoticedOrHarmless$/^packed_o$", []edit{
		{"run.go", "run.addWitnesses(start)", "_ = start"}}},
	{"witnesses-of-entries-only", "watch ^TestDeletedKeysAreNoticedOrHarmless$/_[bs]$", []edit{
		{"watch/witnesses.go", "case slices.ContainsFunc(k.lists", "case false && slices.ContainsFunc(k.lists"}}},
	{"witnesses-never-expire", "watch ^TestWitnessesAreASample$", []edit{
		{"watch/witnesses.go", "return !now.Before(k.until)", "return false"}}},
	{"a-refill-cures-later-losses", "watch ^TestCure$", []edit{
		{"watch/watermarks.go", "return w.cured > 0 && w.cured >= w.lastLossAt()", "return w.cured > 0"}}},
	{"a-refill-cures-what-it-left-out", "../cmd/echosieve/internal/index ^TestRefillOfTwoRecipes$", []edit{
		{"../app/refill/refill.go", "|| r.leftOut.Load() ||", "||"}}},
	{"one-call-speaks-for-all", "^TestHealthChanges$", []edit{
		{"../app/service/health.go", "delete(c.waits, call)", "clear(c.waits)"}}},
	{"one-answer-of-the-registry-is-believed", "^TestANodeThatLagsIsAskedAgain$", []edit{
		{"../app/registry/client.go", "if !patient && (", "if false && ("}}},
	{"no-schema-while-the-registry-is-away", "^TestARegistryThatIsAwayMakesNoDeadLetters$", []edit{
		{"../app/registry/client.go", "		call.refused = time.Time{}\n		return nil, no\n",
			"		return nil, unknownID(call.id)\n"}}},
	{"values-wait-for-no-memory", "^TestValuesWaitForMemory$", []edit{
		{"../pipeline/decode/compression.go", "want := min(int64(n), s.memory.bytes)", "want := int64(0 * n)"}}},
	{"a-reload-is-not-judged", "^TestReloadJudgesAsTheStart$", []edit{
		{"../app/access/access.go", "err = next.judge(a.cfg, before)", "_ = next.judge(a.cfg, before)"}}},
	{"a-refill-brings-forgotten-articles-back",
		"../cmd/echosieve/internal/index ^TestRefillLeavesForgottenArticles$", []edit{
			{"admin/marks.go", "append(forgotten, err == nil && ", "append(forgotten, err != nil && "}}},
	{"a-claimed-size-is-believed", "../consumer/broker ^TestOtherServersAreRefused$", []edit{
		{"../consumer/internal/wire/client.go", " || n > maxAnswerBytes", ""}}},
	{"blind-to-another-index", "watch ^TestLack$", []edit{
		{"watch/handover.go", "if !ok || label.Index.Same(h.index) || now.Sub(label.Seen) >= h.window {",
			"if ok || !ok || at.Offset >= 0 {"}}},
	{"decompressors-without-bound", "^TestDecompressorsShareTheirMemory$", []edit{
		{"../consumer/broker/memory.go",
			"		if err := l.decoders.Acquire(ctx, min(n, l.maxDecoders)); err != nil {\n			return " +
				"nil, err\n		}\n		return func() { l.releaseDecoder(n) }, nil\n",
			"		return func() {}, nil\n"},
		{"../consumer/broker/memory.go",
			"	if !l.decoders.TryAcquire(min(n, l.maxDecoders)) {\n		return nil, " +
				"wire.ErrNoMemory\n	}\n	return func() { l.releaseDecoder(n) }, nil\n",
			"	return func() {}, nil\n"}}},
	// A batch of one partition takes all records in flight, and a decompressor its whole share.
	{"records-before-decompressors", "^TestDecompressorsAreWaitedForBeforeRecords$", []edit{
		{"../consumer/fetch.go", openDecompressor, ""},
		{"../consumer/fetch.go", "	b, size, bad := f.readBatch(records)\n", openDecompressor +
			"	b, size, bad := f.readBatch(records)\n"}}},
	{"foreign-outputs-believed", "^TestCases$/^foreign_outputs$", []edit{
		{"../consumer/delivery/readback.go", "		t.own.foreign.add(at, err.Error())\n		return nil\n", "		return err\n"}}},
	{"takes-the-end-for-the-marker", takingOver, []edit{
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough}}},
	{"reads-batches-of-others", takingOver, []edit{
		{"../consumer/delivery/readback.go",
			"case by.ID == t.as.ID || by.ID == t.pid && t.pid != wire.NoProducerID:", "default:"}}},
	{"owner-raises-its-epoch", takingOver, []edit{
		{"../consumer/delivery/sender.go", "return own.identity() })",
			"return &ownIdentity{cluster: d.cluster, as: own.as} })"}}},
	{"sends-old-batches-again", "^TestOldBatchesAreNotSentAgain$", []edit{
		{"../consumer/delivery/writer.go", "return time.Since(latest) <= f.memory/renewalsInMemory", "return true"}}},
	{"reads-before-the-fence", takingOver, []edit{
		{"../consumer/delivery/takeover.go", fenceFirst, ""},
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough},
		{"../consumer/delivery/takeover.go", "	crashpoint.Here(crashpoint.AfterReadBack)\n", fenceFirst}}},
	{"waits-for-a-forgotten-marker", takingOver, []edit{
		{"../consumer/delivery/readback.go", "} else if time.Now().After(t.deadline) {",
			"} else if false && time.Now().After(t.deadline) {"}}},
	{"keeps-its-epoch", takingOver, []edit{
		{"../consumer/delivery/fence.go", "	t.node = -1\n	err := t.ask(",
			"	if t.begun {\n		return nil\n	}\n	t.node = -1\n	err := t.ask("}}},
	{"forgets-former-outputs", "^TestCases$/^changed_outputs$", []edit{
		{"../consumer/delivery/readback.go", "missingFrom(committed, positions))\n	if err", "nil)\n	if err"}}},
	{"never-renews-its-fence", "^TestForgetfulBrokers$/^4.3.1$", []edit{
		{"../consumer/delivery/ownership.go", "case time.Since(own.fencedAt) >= o.renewalInterval(), ", "case "}}},
	{"owner-chooses-its-epoch", "^TestFencedWritersLoseTheirStanding$", []edit{
		{"../consumer/delivery/writer.go", "func (fencedIdentity) renew() error { return ErrStandingLost }",
			"func (fencedIdentity) renew() error { return nil }"}}},
	{"an-ended-run-is-taken-up", "^TestState$", []edit{
		{"../cmd/echosieve/internal/filter/runs.go", "run.Ended != \"\" || run.Number == 0 {", "run.Number == 0 {"}}},
	{"an-interrupted-run-is-not-taken-up", "^TestKilled$", []edit{
		{"../cmd/echosieve/internal/filter/runs.go", "run.Ended != \"\" || run.Number == 0 {", "true {"}}},
	{"lines-before-their-state", "^TestKilled$", []edit{
		{"../cmd/echosieve/internal/filter/filter.go", "err = r.index.Sync() //", "//"}}},
}
