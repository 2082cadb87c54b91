package demo

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"time"
)

// The cluster of a LiveDemo, and what its tenants submit.

//go:embed live.yaml
var liveConfig string

// liveConfigLater is the configuration that the tenants agree on after a while: more for reports, and a queue
// for releases.
var liveConfigLater = strings.NewReplacer(
	"resources: {max: {vcore: 200}}", "resources: {max: {vcore: 240}}",
	"              - name: builds\n",
	"              - name: builds\n              - name: releases\n"+
		"                properties: {priority.offset: \"40\"}\n",
).Replace(liveConfig)

const liveGPU = "nvidia.com/gpu"

// liveNode is a machine of the cluster.
type liveNode struct {
	id, rack, zone string
	cores          int64
	gpus           int64
}

// liveNodes are 48 nodes in three zones: 40 of three sizes, and 8 with GPUs.
func liveNodes() (nodes []liveNode) {
	sizes := []int64{16, 32, 32, 32, 64, 16}
	for i := range 40 {
		nodes = append(nodes, liveNode{
			id: fmt.Sprintf("node-%02d", i+1), rack: fmt.Sprintf("rack-%d", i/8+1), zone: string(rune('a' + i/16)),
			cores: sizes[i%len(sizes)],
		})
	}
	for i := range 8 {
		nodes = append(nodes, liveNode{
			id: fmt.Sprintf("gpu-%02d", i+1), rack: fmt.Sprintf("rack-g%d", i/4+1), zone: string(rune('a' + i/4)), cores: 64,
			gpus: 8,
		})
	}
	return nodes
}

// liveKind is a kind of job that a tenant submits again and again.
type liveKind struct {
	name       string
	queue      string
	users      []string // of the group of the tenant
	group      string
	priority   int32
	share      float64 // of the cores of the cluster, on average, at load 1
	period     time.Duration
	tasks      [2]int
	millicores []int64
	memory     int64 // GiB per core
	gpus       int64 // of each task
	runs       [2]time.Duration
	gang       bool // the tasks are placed together
	maxJobs    int  // at the same time
}

// liveKinds are the kinds of jobs, in the order in which they are submitted.
var liveKinds = []liveKind{
	{name: "ingress", queue: "root.platform.ingress", users: []string{"ops"}, group: "platform", share: .025,
		tasks: [2]int{4, 6}, millicores: []int64{2000}, memory: 2, runs: [2]time.Duration{8 * time.Minute, 20 * time.Minute},
		maxJobs: 3},
	{name: "prometheus", queue: "root.platform.monitoring", users: []string{"ops"}, group: "platform", share: .02,
		tasks: [2]int{2, 3}, millicores: []int64{4000}, memory: 8, runs: [2]time.Duration{10 * time.Minute, 20 * time.Minute},
		maxJobs: 2},
	{name: "compact", queue: "root.platform.storage", users: []string{"ops"}, group: "platform", share: .015,
		tasks: [2]int{2, 6}, millicores: []int64{1000, 2000}, memory: 4,
		runs: [2]time.Duration{30 * time.Second, 90 * time.Second}, maxJobs: 3},
	{name: "checkout", queue: "root.retail.shop.checkout", users: []string{"shop-deploy"}, group: "retail", priority: 10,
		share: .06, period: 4 * time.Minute, tasks: [2]int{6, 12}, millicores: []int64{1000, 2000}, memory: 4,
		runs: [2]time.Duration{2 * time.Minute, 6 * time.Minute}, maxJobs: 12},
	{name: "search", queue: "root.retail.shop.search", users: []string{"shop-deploy"}, group: "retail", share: .06,
		period: 5 * time.Minute, tasks: [2]int{4, 10}, millicores: []int64{2000, 4000}, memory: 4,
		runs: [2]time.Duration{2 * time.Minute, 6 * time.Minute}, maxJobs: 12},
	{name: "catalogue", queue: "root.retail.shop.catalogue", users: []string{"shop-deploy"}, group: "retail", share: .04,
		period: 3 * time.Minute, tasks: [2]int{2, 8}, millicores: []int64{1000}, memory: 4,
		runs: [2]time.Duration{time.Minute, 4 * time.Minute}, maxJobs: 12},
	{name: "report", queue: "root.retail.analytics.reports", users: []string{"ines", "jonas", "kim"}, group: "retail",
		share: .13, period: 4 * time.Minute, tasks: [2]int{8, 40}, millicores: []int64{1000, 2000}, memory: 3,
		runs: [2]time.Duration{20 * time.Second, 80 * time.Second}, maxJobs: 10},
	{name: "query", queue: "root.retail.analytics.adhoc", users: []string{"ines", "jonas", "kim", "lea"}, group: "retail",
		share: .05, period: 2 * time.Minute, tasks: [2]int{1, 6}, millicores: []int64{2000, 4000}, memory: 5,
		runs: [2]time.Duration{15 * time.Second, 60 * time.Second}, maxJobs: 14},
	{name: "resnet", queue: "root.research.vision.training", users: []string{"maya", "noor"}, group: "research",
		priority: 5, share: .1, period: 5 * time.Minute, tasks: [2]int{4, 8}, millicores: []int64{6000}, memory: 4, gpus: 2,
		runs: [2]time.Duration{time.Minute, 4 * time.Minute}, gang: true, maxJobs: 5},
	{name: "notebook", queue: "root.research.vision.notebooks", users: []string{"maya", "noor", "oskar", "pia", "quinn"},
		group: "research", share: .05, tasks: [2]int{1, 1}, millicores: []int64{4000, 8000}, memory: 4,
		runs: [2]time.Duration{2 * time.Minute, 8 * time.Minute}, maxJobs: 16},
	{name: "transformer", queue: "root.research.language.training", users: []string{"rosa", "sami"}, group: "research",
		priority: 5, share: .12, period: 6 * time.Minute, tasks: [2]int{8, 12}, millicores: []int64{6000}, memory: 4, gpus: 2,
		runs: [2]time.Duration{90 * time.Second, 5 * time.Minute}, gang: true, maxJobs: 4},
	{name: "eval", queue: "root.research.language.evaluation", users: []string{"rosa", "sami", "tara"}, group: "research",
		share: .03, tasks: [2]int{2, 6}, millicores: []int64{4000}, memory: 4, gpus: 1,
		runs: [2]time.Duration{30 * time.Second, 90 * time.Second}, maxJobs: 6},
	{name: "align", queue: "root.genomics.pipelines.nightly.align", users: []string{"uma", "viktor"}, group: "genomics",
		share: .14, period: 3 * time.Minute, tasks: [2]int{10, 50}, millicores: []int64{1000, 2000, 4000}, memory: 4,
		runs: [2]time.Duration{20 * time.Second, 2 * time.Minute}, maxJobs: 8},
	{name: "call", queue: "root.genomics.pipelines.nightly.call", users: []string{"uma", "viktor"}, group: "genomics",
		share: .1, period: 4 * time.Minute, tasks: [2]int{10, 30}, millicores: []int64{2000, 4000}, memory: 4,
		runs: [2]time.Duration{30 * time.Second, 2 * time.Minute}, maxJobs: 8},
	{name: "fastqc", queue: "root.genomics.pipelines.nightly.quality", users: []string{"uma"}, group: "genomics",
		share: .03, tasks: [2]int{4, 20}, millicores: []int64{500, 1000}, memory: 2,
		runs: [2]time.Duration{10 * time.Second, 40 * time.Second}, maxJobs: 6},
	{name: "urgent", queue: "root.genomics.pipelines.express", users: []string{"viktor"}, group: "genomics", priority: 20,
		share: .03, period: 90 * time.Second, tasks: [2]int{2, 6}, millicores: []int64{8000}, memory: 4,
		runs: [2]time.Duration{20 * time.Second, time.Minute}, maxJobs: 4},
	{name: "backfill", queue: "root.genomics.archive", users: []string{"wren"}, group: "genomics", priority: -10,
		share: .06, tasks: [2]int{10, 30}, millicores: []int64{1000, 2000}, memory: 2,
		runs: [2]time.Duration{time.Minute, 3 * time.Minute}, maxJobs: 4},
	{name: "build", queue: "root.ci.builds", users: []string{"ci-bot"}, group: "ci", share: .13, period: 2 * time.Minute,
		tasks: [2]int{2, 12}, millicores: []int64{1000, 2000, 4000}, memory: 3,
		runs: [2]time.Duration{10 * time.Second, 70 * time.Second}, maxJobs: 30},
	{name: "test", queue: "root.ci.tests", users: []string{"ci-bot", "xena", "yuri"}, group: "ci", share: .1,
		period: 3 * time.Minute, tasks: [2]int{4, 24}, millicores: []int64{500, 1000, 2000}, memory: 2,
		runs: [2]time.Duration{10 * time.Second, 50 * time.Second}, maxJobs: 30},
}

// bound returns the run time that an application of the kind states: users are careful, so it is twice the longest, in
// whole minutes.
func (k *liveKind) bound() time.Duration {
	return (2*k.runs[1] + time.Minute - 1).Truncate(time.Minute)
}

// demand returns how many millicores of unfinished tasks a kind has at a time, of a cluster with that many. It rises
// and falls with the period, so that tenants lend to each other in turn.
func (k *liveKind) demand(at time.Duration, millicores int64, load float64) int64 {
	level := 1.0
	if k.period > 0 {
		phase := float64(len(k.queue)*7%17) / 17
		level += .7 * math.Sin(2*math.Pi*(at.Seconds()/k.period.Seconds()+phase))
	}
	return int64(k.share * level * load * float64(millicores))
}

// liveFixture is an ask that waits for ever, for a reason that the page shows.
type liveFixture struct {
	app, queue, user, group string
	millicores, gibibytes   int64
	tags                    map[string]string
}

var liveFixtures = []liveFixture{
	{app: "import-2019", queue: "root.genomics.archive", user: "wren", group: "genomics", millicores: 96_000,
		gibibytes: 128},
	{app: "edge-cache", queue: "root.retail.shop.catalogue", user: "shop-deploy", group: "retail", millicores: 2000,
		gibibytes: 8,
		tags:      map[string]string{"canopy.scheduler/nodeSelector": `{"topology.kubernetes.io/zone":"d"}`}},
}
