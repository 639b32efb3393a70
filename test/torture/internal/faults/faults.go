// Package faults has the faults that a round injects. To add a fault: write its injector in the file of the
// part that it touches, add a line to the table in this file, and give it a mistake of the service that it
// must reveal in ../../mutants_test.go. Help, default schedule and summary follow from the table.
package faults

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// Lane is the part of the system that a fault touches. The faults of one lane follow each other; faults of
// different lanes overlap.
type Lane uint8

// The lanes.
const (
	Processes Lane = iota
	Redis
	Kafka
	Lanes // their number
)

// Fault is a mishap of a process, a server or the network.
type Fault struct {
	Lane  Lane
	About string // for the help text
	// Inject lets the fault happen and waits until it is over. It returns a proof that the fault happened, or an
	// error that says why there is none.
	Inject injector

	needs func(rig.Options) bool // the servers that the fault needs; nil: any
	named bool                   // a round has the fault only if it is named
	// of what only a service notices, or of what the ledger of stories does not know
	service bool
}

type injector func(ctx context.Context, r *rig.Round, random *rand.Rand) (proof string, err error)

// The servers that a fault can need.
func oneBroker(o rig.Options) bool     { return o.BrokerCount == 1 }
func threeBrokers(o rig.Options) bool  { return o.BrokerCount > 1 }
func plainRedis(o rig.Options) bool    { return o.RedisKind == rig.PlainRedis }
func oneVersion(o rig.Options) bool    { return o.Old == "" }
func redisReplicas(o rig.Options) bool { return o.RedisKind != rig.PlainRedis }

// All are the faults by their names on the command line.
var All = map[string]Fault{
	"kill": {Lane: Processes, About: "kill a process with SIGKILL, start another",
		Inject: end("SIGKILL", func(_ *rig.Round, p *process.Process) error { return p.Kill() }, time.Second)},
	"term": {Lane: Processes, About: "end a process with SIGTERM, start another",
		Inject: end("SIGTERM", func(r *rig.Round, p *process.Process) error { return r.Terminate(p) }, 0)},
	"storm": {Lane: Processes, Inject: storm, About: "processes join and leave faster than the group settles"},
	"zombie": {Lane: Processes, Inject: zombie,
		About: "freeze a process until others have its partitions, then let it resume"},
	"crash": {Lane: Processes, Inject: crash, About: "three processes end themselves at drawn crash points"},
	"crash-every": {
		Lane: Processes, Inject: crashEverywhere, named: true,
		About: "a process ends itself at every crash point, with SIGKILL and with SIGTERM",
	},

	"replace": {
		Lane: Processes, Inject: replace, needs: func(o rig.Options) bool { return o.Old != "" },
		About: "replace a process by one of the other version; with --upgrade before each other fault of processes",
	},

	"release": {
		Lane: Processes, Inject: release, needs: oneVersion,
		About: "drops are taken back with the command release, which is killed meanwhile",
	},

	"redis-stall": {Lane: Redis, Inject: stallRedis, needs: plainRedis,
		About: "Redis stops without closing a connection"},
	"redis-restart": {Lane: Redis, Inject: restartRedis, needs: plainRedis,
		About: "kill Redis and start it again with its data"},
	"redis-out-of-memory": {service: true, Lane: Redis, Inject: outOfMemory, About: "Redis refuses writes"},

	"redis-master-behind": {Lane: Redis, Inject: failover(killMasterAhead), needs: redisReplicas,
		About: "kill the master while its replica lacks its last writes"},
	"redis-master-cut": {Lane: Redis, Inject: failover(cutMaster), needs: redisReplicas,
		About: "cut the network before the master until it is replaced"},

	"broker-kill": {Lane: Kafka, Inject: killBroker, needs: oneBroker, About: "kill the broker with SIGKILL"},
	"partitions":  {service: true, Lane: Kafka, Inject: addPartitions, About: "add partitions to the input topic"},
	"leader-kill": {Lane: Kafka, Inject: killLeader, needs: threeBrokers,
		About: "kill the leader of a partition; with another leader everything goes on"},
	"broker-cut": {Lane: Kafka, Inject: cutBroker, needs: threeBrokers,
		About: "cut the leader of a partition off from everybody"},
	"two-brokers-lost": {Lane: Kafka, Inject: loseTwoBrokers, needs: threeBrokers,
		About: "two of three brokers are away"},

	"redis-cut": {Lane: Redis, Inject: cut("redis"), About: "requests to Redis or replies are lost"},
	"redis-hang-ups": {Lane: Redis, Inject: hangUps("redis"),
		About: "connections to Redis end soon after they are opened"},
	"kafka-cut": {Lane: Kafka, Inject: cut("kafka"), About: "requests to Kafka or replies are lost"},
	"kafka-hang-ups": {Lane: Kafka, Inject: hangUps("kafka"),
		About: "connections to Kafka end soon after they are opened"},
}

// Names are the names of all faults, in order.
func Names() []string { return slices.Sorted(maps.Keys(All)) }

// Usual are the faults that a round has by default, each once.
func Usual(o rig.Options) []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return All[name].named || !All[name].Suits(o) })
}

// Suits says whether the fault can happen to the servers of a run.
func (f Fault) Suits(o rig.Options) bool {
	return (f.needs == nil || f.needs(o)) && (!f.service || !o.Stories)
}

// between draws a duration.
func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)))
}
