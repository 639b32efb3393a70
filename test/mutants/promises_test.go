package mutants

const (
	interleaving = "^TestInterleaving$/^Mini$"
	contract     = "^TestContract$/^Mini$"
	reference    = contract + "/^Reference$"
	takingOver   = "^TestRealKafka$/^4.3.1$/^(take-over|late_marker)$"

	fenceFirst       = "	if err := t.fence(ctx, positions); err != nil {\n		return nil, err\n	}\n"
	openDecompressor = "	if err := records.Open(f.limiter.WaitDecoder(ctx)); err != nil && ctx.Err() != nil " +
		"{\n		return offset, ctx.Err()\n	}\n"
	markerMissing = "		if next > offset {\n			retry.Reset()\n"
	endIsEnough   = "		if err == nil && next == offset {\n			return next, nil\n		}\n" + markerMissing
)

// promises are the mistakes that break a promise of docs/reliability.md. Every go test without -short tests them.
var promises = []mistake{
	{"looks-up-before-it-stores", interleaving, []edit{
		{"store.go", "	return added()\n",
			"	pipe = x.client.Pipeline()\n	c.early = looking{c.claim}.queueLookups(ctx, pipe, c.tasks)\n	if err := " +
				"c.exec(ctx, \"look_up\", pipe); err != nil {\n		return err\n	}\n	return added()\n"},
		{"claim.go", "	call       *call\n", "	call       *call\n	early      *lookups\n"},
		{"lookup.go", "l := c.queueLookups(ctx, pipe, open)", "l := c.early"},
		{"lookup.go", "exists := c.seen[slice] || x.slices.Contains(slice)", "exists := true"}}},
	{"draws-tickets-before-it-stores-entries", interleaving, []edit{
		{"run.go", "{s.storeLists, s.storeEntries, l.drawTickets,", "{l.drawTickets, s.storeLists, s.storeEntries,"}}},
	{"no-decide", interleaving, []edit{
		{"decide.go", "t.verdict = verdict", "t.verdict, _ = t.proposal, verdict"}}},
	{"last-verdict-wins", interleaving, []edit{
		{"lua/decide.lua", "if len > head then return string.sub(value, pos + head, pos + len - 1) end",
			"value, len = string.sub(value, 1, pos + head - 1) .. string.sub(value, pos + len), head"}}},
	{"root-early", interleaving, []edit{
		{"decide.go", "return verdict.Root, verdict.Kind != 0, nil",
			"if verdict.Kind == 0 {\n\t\treturn r.Ref(), true, nil\n\t}\n\treturn verdict.Root, true, nil"}}},
	{"waits-without-end", "^TestUndecidedOriginalIsWithdrawn$", []edit{
		{"decide.go", "return now.Sub(since) >= c.x.cfg.UndecidedTimeout", "return false && now.Sub(since) > 0"}}},
	{"replay-does-not-know-its-own-record", interleaving, []edit{
		{"store.go", "if e.Coordinates == t.Coordinates {", "if false {"}}},
	{"refused-articles-stay-originals", contract + "/^Retract$", []edit{
		{"stored.go", "if s.Coordinates == a.Coordinates && !s.Hidden {", "if false {"}}},
	{"copy-of-its-copy", "^TestLostOriginalStaysUnique$", []edit{
		{"decide.go", "if root.Coordinates == t.Coordinates {", "if false {"}}},
	{"entries-never-expire", "^TestEveryKeyExpires$/^Mini$", []edit{
		{"lua/store.lua", "prolong(key, ARGV[5])", ""},
		{"store.go", "pipe.Expire(ctx, key, x.keys.Layout.Lifetime)", ""}}},
	{"window-edge-outside", contract + "/^WindowEdges$", []edit{
		{"keyspace/layout.go", "<= l.windowMs", "< l.windowMs"}}},
	{"destination-by-the-policy-of-today", interleaving, []edit{
		{"claim.go", "verdicts[i] = t.verdict\n",
			"verdicts[i] = t.verdict\n		verdicts[i].Destination = " +
				"c.x.policy.Load().Destination(article.Judgement{Kind: t.verdict.Kind, Likeness: t.verdict.Likeness})\n"}}},
	{"no-probes", contract + "/^Probes$", []edit{
		{"lookup.go", "x.keys.Layout.Plan.AppendLookups(blocks, &t.Article)",
			"x.keys.Layout.Plan.AppendStored(blocks, &t.Article)"}}},
	{"lists-without-end", "^TestFullList$", []edit{
		{"lua/add.lua", "if #list > most then", "if false then"}}},
	{"does-not-wait-for-replicas", "^TestTooFewReplicas$/^Single$", []edit{
		{"connection/replication.go", "wait.Val() < int64(r.replicas)", "wait.Val() < 0"}}},
	{"waits-for-ever-in-readyz", "^TestWaitsForRedis$", []edit{
		{"run.go", "defer c.endWait()", "_ = c"}}},
	{"positions-past-what-was-found", "^TestPositions$", []edit{
		{"../consumer/delivery/ownership.go", "if o.acknowledged.len > 0 && next <= o.acknowledged.highest {",
			"if false {"}}},
	{"takes-over-without-a-fence", takingOver, []edit{
		{"../consumer/delivery/takeover.go", fenceFirst, ""},
		{"../consumer/delivery/readback.go", markerMissing, endIsEnough}}},
	{"positions-of-another-moment", "^TestPositionsBelongToTheirOffset$", []edit{
		{"../consumer/generation.go", "append(commits, *m)", "append(commits, *p.owner.Positions(m.Next))"}}},
	{"looks-in-one-topic-only", "^TestRealKafka$/^4.3.1$/^lost_verdicts$", []edit{
		{"../consumer/partition.go", "return p.owner.Acknowledged(o.Record.Offset) })",
			"return p.owner.Acknowledged(o.Record.Offset) && o.Destination == 0 })"}}},
	{"commits-for-any-generation", "../consumer ^TestRealKafka$/^4.3.1$/^late_commit$", []edit{
		{"../consumer/broker/group.go", "GenerationID: int(gen.ID), MemberID: gen.MemberID,", "GenerationID: -1,"}}},
	{"fenced-owner-goes-on", "^TestFencedWritersLoseTheirStanding$", []edit{
		{"../consumer/delivery/writer.go",
			"	if react(err) == leave {\n		return ErrTakenOver\n	}\n	return ErrStandingLost\n",
			"	_ = err\n	return ErrStandingLost\n"}}},
	{"learnt-rows-count-at-once", everyDelivery, []edit{
		{"../consumer/learning/row.go", "Begin: Begin(rec.Time)}", "Begin: rec.Time}"}}},
	{"learnt-rows-by-the-writers-clock", everyDelivery, []edit{
		{"../consumer/learning/book.go", "case !ok, !appended:", "case !ok:"}}},
	{"learnt-rows-under-one-key", everyDelivery, []edit{
		{"../consumer/learning/row.go", "r.Hash, writer, number, r.Publisher)",
			"r.Hash, \"\", number-number, r.Publisher)"}}},
	{"learnt-rows-without-a-horizon", everyDelivery, []edit{
		{"../consumer/learning/book.go", "timestamp.UnixMilli() < b.below.Load()",
			"timestamp.UnixMilli() < b.below.Load()+1<<50"}}},
	{"learnt-rows-published-again", everyDelivery, []edit{
		{"../consumer/learning/book.go", "b.number++", "b.number = 1"}}},
}

// everyDelivery is the test of package learning for its protocol.
const everyDelivery = "^TestEveryDeliveryMeetsTheSameRows$"
