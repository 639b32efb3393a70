package mutants

const (
	interleaving = "^TestInterleaving$/^Mini$"
	contract     = "^TestContract$/^Mini$"
	reference    = contract + "/^Reference$"
	takingOver   = "^TestRealKafka$/^4.3.1$/^(take-over|late_marker)$"

	fenceFirst       = "	if err := t.fence(ctx, positions); err != nil {\n		return nil, err\n	}\n"
	openDecompressor = "	if err := records.Open(p.c.limiter.WaitDecoder(ctx)); err != nil && ctx.Err() != nil " +
		"{\n		return offset, ctx.Err()\n	}\n"
	markerMissing = "		if next > offset {\n			retry.Reset()\n"
	endIsEnough   = "		if err == nil && next == offset {\n			return next, nil\n		}\n" + markerMissing
)

// promises are the mistakes that break a promise of docs/reliability.md. Every go test without -short tests them.
var promises = []mistake{
	{"looks-up-before-it-stores", []edit{
		{"claim.go", "	return added()\n",
			"	pipe = x.client.Pipeline()\n	c.early = c.queueLookups(ctx, pipe, c.tasks)\n	if err := " +
				"c.exec(ctx, \"look_up\", pipe); err != nil {\n		return err\n	}\n	return added()\n"},
		{"claim.go", "	call       *call\n", "	call       *call\n	early      *lookups\n"},
		{"lookup.go", "l := c.queueLookups(ctx, pipe, open)", "l := c.early"},
		{"lookup.go", "exists := c.seen[slice] || x.slices.known(slice)", "exists := true"},
	}, interleaving},
	{"draws-tickets-before-it-stores-entries", []edit{
		{"index.go", "{c.storeLists, c.storeEntries, c.drawTickets,", "{c.drawTickets, c.storeLists, c.storeEntries,"},
	}, interleaving},
	{"no-decide", []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, _ = t.proposal, verdict"},
	}, interleaving},
	{"last-verdict-wins", []edit{
		{"lua/decide.lua", "if len > head then return string.sub(value, pos + head, pos + len - 1) end",
			"value, len = string.sub(value, 1, pos + head - 1) .. string.sub(value, pos + len), head"},
	}, interleaving},
	{"root-early", []edit{
		{"decide.go", "return article.Ref{}, false, nil", "return r.Ref(), true, nil"},
	}, interleaving},
	{"waits-without-end", []edit{
		{"decide.go", "return now.Sub(since) >= c.x.cfg.UndecidedTimeout", "return false && now.Sub(since) > 0"},
	}, "^TestUndecidedOriginalIsWithdrawn$"},
	{"replay-does-not-know-its-own-record", []edit{
		{"claim.go", "if e.Coordinates == t.Coordinates {", "if false {"},
	}, interleaving},
	{"refused-articles-stay-originals", []edit{
		{"retract.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if false {"},
	}, contract + "/^Retract$"},
	{"copy-of-its-copy", []edit{
		{"decide.go", "if root.Coordinates == t.Coordinates {", "if false {"},
	}, "^TestLostOriginalStaysUnique$"},
	{"entries-never-expire", []edit{
		{"lua/store.lua", "prolong(key, ARGV[5])", ""},
		{"claim.go", "pipe.Expire(ctx, key, x.layout.Lifetime)", ""},
	}, "^TestEveryKeyExpires$/^Mini$"},
	{"window-edge-outside", []edit{
		{"keyspace/layout.go", "<= l.windowMs", "< l.windowMs"},
	}, contract + "/^WindowEdges$"},
	{"destination-by-the-policy-of-today", []edit{
		{"claim.go", "verdicts[i] = t.verdict\n",
			"verdicts[i] = t.verdict\n		verdicts[i].Destination = " +
				"c.x.policy.Load().Destination(article.Judgement{Kind: t.verdict.Kind, Likeness: t.verdict.Likeness})\n"},
	}, "^TestChangeOfPolicy$/^Mini$"},
	{"no-probes", []edit{
		{"lookup.go", "x.layout.Plan.AppendLookups(blocks, &t.Article)",
			"x.layout.Plan.AppendStored(blocks, &t.Article)"},
	}, contract + "/^Probes$"},
	{"lists-without-end", []edit{
		{"lua/add.lua", "if #list > most then", "if false then"},
	}, "^TestFullList$"},
	{"does-not-wait-for-replicas", []edit{
		{"connection/replication.go", "wait.Val() < int64(r.replicas)", "wait.Val() < 0"},
	}, "^TestTooFewReplicas$/^Single$"},
	{"waits-for-ever-in-readyz", []edit{
		{"index.go", "defer c.served()", "_ = c"},
	}, "^TestWaitsForRedis$"},
	{"positions-past-what-was-found", []edit{
		{"../consumer/delivery/ownership.go", "if o.acknowledged.len > 0 && next <= o.acknowledged.highest {", "if false {"},
	}, "^TestPositions$"},
	{"takes-over-without-a-fence", []edit{
		{"../consumer/delivery/takeover.go", fenceFirst, ""},
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough},
	}, takingOver},
	{"positions-of-another-moment", []edit{
		{"../consumer/generation.go", "append(commits, *m)", "append(commits, *p.owner.Positions(m.Next))"},
	}, "^TestPositionsBelongToTheirMark$"},
	{"looks-in-one-topic-only", []edit{
		{"../consumer/stages.go", "return p.owner.Acknowledged(o.Record.Offset) })",
			"return p.owner.Acknowledged(o.Record.Offset) && o.Destination == 0 })"},
	}, "^TestRealKafka$/^4.3.1$/^lost_verdicts$"},
	{"commits-for-any-generation", []edit{
		{"../consumer/broker/commit.go", "GenerationID: int(gen.ID), MemberID: gen.MemberID,", "GenerationID: -1,"},
	}, "../consumer ^TestRealKafka$/^4.3.1$/^late_commit$"},
	{"fenced-owner-goes-on", []edit{
		{"../consumer/delivery/identity.go",
			"	if react(err) == leave {\n		return ErrTakenOver\n	}\n	return ErrStandingLost\n",
			"	_ = err\n	return ErrStandingLost\n"},
	}, "^TestFencedWritersLoseTheirStanding$"},
}
