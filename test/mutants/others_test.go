package mutants

// others are tested if a file that they change differs from the branch main, and with make test-all.
var others = []mistake{
	{"stories-count-an-offset-twice", []edit{
		{"../stories/story.go", "case at.Offset <= s.highest[i].Offset:", "case false:"},
	}, "../stories/projector ^TestSchedules$/^Mini$"},
	{"stories-are-not-checked-again", []edit{
		{"../stories/projector/projector.go", "if changed[i] {", "if false && changed[i] {"},
	}, "../stories/projector ^TestSchedules$/^Mini$"},
	{"stories-publish-only-what-they-changed", []edit{
		{"../stories/projector/projector.go", "} else if t.Version() == before {",
			"} else if t.Version() == before {\n\t\t\tt.Story = stories.New(t.root)"},
	}, "../stories/projector ^TestRepeatedBatchIsPublishedAgain$/^Mini$"},
	{"stories-without-a-fence", []edit{
		{"../internal/app/service/stories.go", "kafka.Delivery = broker.ExactlyOnce",
			"kafka.Delivery = broker.AtLeastOnce"},
	}, "^TestStoriesFollowTheService$"},
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
	{"decide-any", []edit{
		{"lua/decide.lua", "if field == ARGV[1] and string.sub(value, pos + 4, pos + 9) ~= ARGV[3] then return 1 end",
			""},
	}, "^TestVerdictOfAWithdrawnTicketIsNotWritten$"},
	{"batches-wait-as-a-whole", []edit{
		{"decide.go", "case len(ready) > 0:", "case len(ready) > 0 && len(awaited) == 0:"},
	}, "^TestClaimsDoNotWaitAsAWhole$"},
	{"waits-for-itself", []edit{
		{"decide.go", "if c.comesLater(r.Coordinates) {", "if false {"},
	}, "^TestDoesNotWaitForItself$"},
	{"damage-is-taken-for-the-end", []edit{
		{"keyspace/lua/find.lua", "error('ECHOSIEVE_DAMAGED', 0)", "break"},
	}, "^TestDamagedOwnEntry$"},
	{"keeps-the-farthest", []edit{
		{"../pipeline/lookup/lookup.go", "if c.Distance == n.cutoff {\n\t\t\treturn", "if true {\n\t\t\treturn"},
	}, "^TestNearest$"},
	{"candidates-twice", []edit{
		{"../pipeline/lookup/lookup.go", "if slices.Contains(n.byBits[c.Distance], c) {",
			"if slices.Contains(n.byBits[c.Distance], c) && false {"},
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
	{"repeat-of-undecided-guesses-its-root", []edit{
		{"claim.go", "article.ExactVerdict(o.Ref(), verdict.Root)", "article.ExactVerdict(o.Ref(), o.Ref())"},
	}, reference},
	{"restored-articles-lose-their-position", []edit{
		{"admin/restore.go", "return RestoredHidden, nil", "return RestoredHeld, nil"},
	}, "admin ^TestRestore$/^Mini$"},
	{"refill-leaves-articles-undecided", []edit{
		{"admin/lua/restore.lua", "elseif len == head and", "elseif false and"},
	}, "^TestRestoreDecidesForAnother$"},
	{"refill-skips", []edit{
		{"../cmd/echosieve/internal/index/refiller.go", "		a, _ := prepared.Article(i)\n		if a == nil {\n",
			"		a, _ := prepared.Article(i)\n		if a == nil || b.records[i].Offset%4 == 3 {\n"},
	}, "^TestRefillReadsFurtherBack$"},
	{"a-refused-repeat-hides-its-original", []edit{
		{"retract.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if !s.Hidden {"},
	}, contract + "/^Retract$"},
	{"replays-of-hidden-entries-are-new", []edit{
		{"lua/store.lua", "find(value, digest, hidden)", "find(value, digest)"},
	}, "admin ^TestHide$/^Mini$"},
	{"hidden-entries-have-repeats", []edit{
		{"keyspace/entry.go", "return hidden[:]", "return append(hidden[:0], e.Digest[:]...)"},
	}, "admin ^TestHide$/^Mini$"},
	{"lists-never-expire", []edit{
		{"lua/add.lua", "if is_new then prolong(key, ARGV[1]) end", ""},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"lists-expire-although-they-are-written", []edit{
		{"lua/prolong.lua", "left < tonumber(seconds)", "false"},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"slices-never-expire", []edit{
		{"claim.go", `pipe.HSet(ctx, key, "", "")` + "\n\t\t\tpipe.Expire(ctx, key, 2*c.x.layout.Lifetime)",
			`pipe.HSet(ctx, key, "", "")`},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"only-earlier-slices", []edit{
		{"keyspace/layout.go", "l.Slice(saturate(ms, l.windowMs))", "l.Slice(ms)"},
	}, contract + "/^WindowEdges$"},
	{"little-texts-collapse", []edit{
		{"keyspace/entry.go", "e.LittleText = raw[formAt]&flagLittle != 0", "_ = raw"},
	}, reference},
	{"look-alikes-before-copies", []edit{
		{"decide.go", "if !r.judged.Kind.IsCopy() {", "if r.judged.Kind == 0 {"},
	}, reference},
	{"own-destination-wins", []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, t.verdict.Destination = verdict, t.proposal.Destination"},
	}, "^TestTwoPolicies$/^Mini$"},
	{"revisions-of-another-article", []edit{
		{"lookup.go", "if r.judged.SameID != s.judged.SameID {", "if false {"},
	}, reference},
	{"no-anchors", []edit{
		{"lookup.go", "x.layout.Plan.AppendLookups(blocks, &t.Article)",
			"func(a article.Article) []simhash.Block { a.Anchors = nil; return x.layout.Plan.AppendLookups(nil, " +
				"&a) }(t.Article)"},
	}, contract + "/^Anchors$"},
	{"blocks-reach-as-far-as-anchors", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)", "n.filter.Accepts(4, other, d)"},
	}, "../pipeline/memindex ^TestContract$/^Reach$"},
	{"anchors-reach-no-farther-than-blocks", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)", "n.filter.Accepts(0, other, d)"},
	}, "../pipeline/memindex ^TestContract$/^Reach$"},
	{"two-lists-are-no-more-than-one", []edit{
		{"../pipeline/lookup/lookup.go", "n.filter.Accepts(block, other, d)",
			"func() bool { n.filter.Reset(); return n.filter.Accepts(block, other, d) }()"},
	}, "../pipeline/memindex ^TestContract$/^Reach$"},
	{"stored-without-anchors", []edit{
		{"lists.go", "c.x.layout.Plan.AppendStored(blocks[:0], &t.Article)",
			"c.x.layout.Plan.Layout.AppendBlocks(blocks[:0], t.Fingerprint)"},
	}, contract + "/^Anchors$"},
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
	{"a-refill-cures-later-losses", []edit{
		{"watch/watermarks.go", "return w.cured > 0 && w.cured >= w.lastLossAt()", "return w.cured > 0"},
	}, "watch ^TestCure$"},
	{"a-refill-cures-what-it-left-out", []edit{
		{"admin/refill.go", "if cured = gap.Err() != nil ||", "if cured = true || gap.Err() != nil ||"},
	}, "watch ^TestCure$"},
	{"a-refill-goes-on-where-it-never-was", []edit{
		{"admin/refill.go", "if r.From <= from && from <= r.To {", "if from <= r.To {"},
	}, "admin ^TestRefillProgress$"},
	{"one-call-speaks-for-all", []edit{
		{"../internal/app/service/health.go", "delete(c.waits, call)", "clear(c.waits)"},
	}, "^TestHealthChanges$"},
	{"one-answer-of-the-registry-is-believed", []edit{
		{"../internal/app/registry/wait.go", "if !patient && !w.isClear(id, no.answer) {", "if false {"},
	}, "^TestANodeThatLagsIsAskedAgain$"},
	{"no-schema-while-the-registry-is-away", []edit{
		{"../internal/app/registry/wait.go", "		w.setAway(no)\n		return nil, no\n", "		return nil, no.reject(id)\n"},
	}, "^TestARegistryThatIsAwayMakesNoDeadLetters$"},
	{"values-wait-for-no-memory", []edit{
		{"../pipeline/decode/memory.go", "want := min(int64(n), s.memory.bytes)", "want := int64(0 * n)"},
	}, "^TestValuesWaitForMemory$"},
	{"a-reload-is-not-judged", []edit{
		{"../internal/app/access/access.go", "if err = f.judge(cfg, old); err == nil {", "if err = nil; err == nil {"},
	}, "^TestReloadJudgesAsTheStart$"},
	{"a-refill-brings-forgotten-articles-back", []edit{
		{"admin/forgotten.go", "append(forgotten, err == nil && ", "append(forgotten, err != nil && "},
	}, "../cmd/echosieve/internal/index ^TestRefillLeavesForgottenArticles$"},
	{"a-claimed-size-is-believed", []edit{
		{"../internal/base/diag/guard.go", "size > maxFrameBytes || ", ""},
	}, "^TestGuardKafka$"},
	{"blind-to-another-process", []edit{
		{"watch/reporter.go", "if r.committed == nil || before[partition] == commit {",
			"if before[partition] != commit || true {"},
	}, "watch ^TestReporter$"},
	{"blind-to-another-index", []edit{
		{"watch/handover.go", "if !ok || label.Index.Same(h.index) || now.Sub(label.Seen) >= h.window {",
			"if ok || !ok || at.Offset >= 0 {"},
	}, "watch ^TestLack$"},
	{"decompressors-without-bound", []edit{
		{"../consumer/broker/memory.go",
			"		if err := l.decoders.Acquire(ctx, min(n, l.maxDecoders)); err != nil {\n			return " +
				"nil, err\n		}\n		return func() { l.releaseDecoder(n) }, nil\n",
			"		return func() {}, nil\n"},
		{"../consumer/broker/memory.go",
			"	if !l.decoders.TryAcquire(min(n, l.maxDecoders)) {\n		return nil, " +
				"wire.ErrNoMemory\n	}\n	return func() { l.releaseDecoder(n) }, nil\n",
			"	return func() {}, nil\n"},
	}, "^TestDecompressorsShareTheirMemory$"},
	// A batch of one partition takes all records in flight, and a decompressor its whole share.
	{"records-before-decompressors", []edit{
		{"../consumer/fetch.go", openDecompressor, ""},
		{"../consumer/fetch.go", "	b, size, bad := p.readBatch(records)\n", openDecompressor +
			"	b, size, bad := p.readBatch(records)\n"},
	}, "^TestDecompressorsAreWaitedForBeforeRecords$"},
	{"foreign-outputs-believed", []edit{
		{"../consumer/delivery/readback.go", "		t.own.foreign.add(at, err.Error())\n		return nil\n", "		return err\n"},
	}, "^TestCases$/^foreign_outputs$"},
	{"takes-the-end-for-the-marker", []edit{
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough},
	}, takingOver},
	{"reads-batches-of-others", []edit{
		{"../consumer/delivery/readback.go", "case by.ID == t.as.ID || by.ID == t.pid && t.pid != wire.NoProducerID:", "default:"},
	}, takingOver},
	{"owner-raises-its-epoch", []edit{
		{"../consumer/delivery/sender.go", "return own.identity() })", "return &ownIdentity{ids: s.ids, as: own.as} })"},
	}, takingOver},
	{"sends-old-batches-again", []edit{
		{"../consumer/delivery/identity.go", "return time.Since(latest) <= f.memory/renewalsInMemory", "return true"},
	}, "^TestOldBatchesAreNotSentAgain$"},
	{"reads-before-the-fence", []edit{
		{"../consumer/delivery/takeover.go", fenceFirst, ""},
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough},
		{"../consumer/delivery/takeover.go", "	crashpoint.Here(crashpoint.AfterReadBack)\n", fenceFirst},
	}, takingOver},
	{"waits-for-a-forgotten-marker", []edit{
		{"../consumer/delivery/readback.go", "} else if time.Now().After(t.deadline) {",
			"} else if false && time.Now().After(t.deadline) {"},
	}, takingOver},
	{"keeps-its-epoch", []edit{
		{"../consumer/delivery/fence.go", "	t.node = -1\n	err := t.ask(",
			"	if t.begun {\n		return nil\n	}\n	t.node = -1\n	err := t.ask("},
	}, takingOver},
	{"forgets-former-outputs", []edit{
		{"../consumer/delivery/readback.go", "missingFrom(committed, positions))\n	if err", "nil)\n	if err"},
	}, "^TestCases$/^changed_outputs$"},
	{"never-renews-its-fence", []edit{
		{"../consumer/delivery/owner.go", "case time.Since(own.fencedAt) >= o.renewalInterval(), ", "case "},
	}, "^TestForgetfulBrokers$/^4.3.1$"},
	{"owner-chooses-its-epoch", []edit{
		{"../consumer/delivery/identity.go", "func (fencedIdentity) renew() error { return ErrStandingLost }",
			"func (fencedIdentity) renew() error { return nil }"},
	}, "^TestFencedWritersLoseTheirStanding$"},
	{"an-ended-run-is-taken-up", []edit{
		{"../cmd/echosieve/internal/filter/runs.go", "time.UnixMilli(ms); last.ended {", "time.UnixMilli(ms); false {"},
	}, "^TestState$"},
	{"an-interrupted-run-is-not-taken-up", []edit{
		{"../cmd/echosieve/internal/filter/runs.go", "time.UnixMilli(ms); last.ended {", "time.UnixMilli(ms); true {"},
	}, "^TestKilled$"},
	{"lines-before-their-state", []edit{
		{"../cmd/echosieve/internal/filter/filter.go", "err = r.index.Sync() //", "//"},
	}, "^TestKilled$"},
}
