package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// usageServer serves a full cluster of 8 vcore, of which root.b has 6, root.a waits for its guarantee of 4 since two
// hours, and the usage of the last hour.
func usageServer(t *testing.T) (address string) {
	conf, problems := queuesyaml.Load([]byte(`partitions:
- name: default
  queues:
  - name: root
    submitacl: '*'
    queues:
    - {name: a, resources: {guaranteed: {vcore: 4}, max: {vcore: 7}}}
    - {name: b}
`))
	assert.Assert(t, conf != nil, "%v", problems)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	c := loop.NewCluster(loop.Options{Now: func() time.Time { return noon }},
		func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	vcore := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	ask := func(app, key string, n resources.Quantity) *objects.Ask {
		return &objects.Ask{Key: objects.AllocationKey(key), App: objects.AppID(app), Amounts: vcore(n),
			Created: objects.TimestampOf(noon.Add(-2 * time.Hour))}
	}
	for _, cmd := range []scheduler.Command{
		scheduler.AddNode{Node: "n1", Total: vcore(8000), Schedulable: true},
		scheduler.AddApplication{App: "etl", User: security.User{Name: "ann"}, Queue: "root.a"},
		scheduler.AddApplication{App: "train", User: security.User{Name: "bob"}, Queue: "root.b"},
		scheduler.ReportAllocation{Ask: ask("etl", "e1", 2000), Node: "n1"},
		scheduler.ReportAllocation{Ask: ask("train", "t1", 6000), Node: "n1"},
		scheduler.SubmitAsk{Ask: ask("etl", "e2", 3000)},
	} {
		_, err := l.Call(t.Context(), cmd)
		assert.NilError(t, err)
	}
	store, err := usage.Open("", usage.Options{}, noon)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	snap, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	for _, ago := range []time.Duration{time.Hour, 30 * time.Minute, 0} {
		at := *snap
		at.At = noon.Add(-ago)
		assert.NilError(t, store.Add(usage.SampleOf(&at, usage.TreeOf(t.Context(), &at, nil))))
	}
	server := httptest.NewServer(webservice.Handler(c, webservice.Options{
		Sources: webservice.Sources{Usage: store, Lifetimes: lifecycle.DefaultLifetimes()},
		Process: webservice.Process{Now: func() time.Time { return noon }},
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestReaderCommands_Text(t *testing.T) {
	address := usageServer(t)
	for args, want := range map[string]string{
		"usage --since 2h": `partition default, 2026-01-02T10:00:00Z to 2026-01-02T12:00:00Z, 50 % covered

QUEUE   VCORE-HOURS  MEMORY GiB-HOURS  FAIRNESS  PENDING ASKS  RUNNING APPS
root    8.00         0.00              1.00      1.0           2.0
root.b  6.00         0.00              1.00      0.0           1.0
root.a  2.00         0.00              0.40      1.0           1.0
`,
		"usage --by user --since 1h --resource vcore --limit 1": `partition default, ` +
			`2026-01-02T11:00:00Z to 2026-01-02T12:00:00Z, 100 % covered

USER  VCORE-HOURS  PENDING ASKS  RUNNING APPS
bob   6.00         0.0           1.0
and 1 more with less; see --limit and --name
`,
		"usage --by group": `partition default, 2026-01-01T12:00:00Z to 2026-01-02T12:00:00Z, 4 % covered

no group had anything
`,
		"queues": `partition default, vcore

QUEUE  USED  OWED  GUAR  MAX  PENDING  ASKS  WAIT
root   8     8     -     8    3        1     2h00m
  a    2     5     4     7    3        1     2h00m  STARVED
  b    6     3     -     -    0        0     -
`,
		"queues --starved": `partition default, vcore

QUEUE   USED  OWED  GUAR  MAX  PENDING  ASKS  WAIT
root.a  2     5     4     7    3        1     2h00m  STARVED
`,
		"queues --leaves --sort used": `partition default, vcore

QUEUE   USED  OWED  GUAR  MAX  PENDING  ASKS  WAIT
root.b  6     3     -     -    0        0     -
root.a  2     5     4     7    3        1     2h00m  STARVED
`,
		"apps --sort pending": `partition default, 2 active applications, vcore

APPLICATION  QUEUE   USER  STATE    USED  PENDING  ASKS  SUBMITTED
etl          root.a  ann   Running  2     3        1     2026-01-02T10:00:00Z
train        root.b  bob   Running  6     0        0     2026-01-02T10:00:00Z
`,
		"apps --queue root.b": `partition default, 1 active application, vcore

APPLICATION  QUEUE   USER  STATE    USED  PENDING  ASKS  SUBMITTED
train        root.b  bob   Running  6     0        0     2026-01-02T10:00:00Z
`,
		"apps --state completed": `partition default, 0 completed applications, vcore

APPLICATION  QUEUE  USER  STATE  PEAK  FINISHED  RAN FOR
`,
		"nodes": `partition default, 1 node, vcore

NODE  STATE  CAPACITY  ALLOCATED  OTHERS  FREE  ALLOCATIONS  RESERVED
n1    ready  8         8          0       0     2            -
`,
		"top --watch=0 --limit 1": `partition default, root: 8 of 8 vcore, 2 applications running, 1 pending ask

QUEUE   USED  OWED  GUAR  MAX  PENDING  ASKS  WAIT
root.b  6     3     -     -    0        0     -

APPLICATION  QUEUE   USER  STATE    USED  PENDING  ASKS  SUBMITTED
train        root.b  bob   Running  6     0        0     2026-01-02T10:00:00Z
`,
	} {
		code, out, errs := runCanopy(append(strings.Fields(args), "--address", address)...)
		assert.Equal(t, errs, "", args)
		assert.Equal(t, code, 0, args)
		assert.Equal(t, trimLines(out), want, args)
	}
}

func TestReaderCommands_JSON(t *testing.T) {
	address := usageServer(t)
	read := func(into any, args string) {
		t.Helper()
		code, out, errs := runCanopy(append(strings.Fields(args), "--address", address, "-o", "json")...)
		assert.Equal(t, errs, "")
		assert.Equal(t, code, 0)
		assert.NilError(t, json.Unmarshal([]byte(out), into), out)
	}
	var w dao.UsageWindow
	read(&w, "usage --name root.a --since 1h --step 15m")
	assert.Equal(t, w.CoveredSeconds, 3600.0)
	assert.Equal(t, len(w.Series[0].Points), 4)
	assert.Equal(t, w.Series[0].Points[3].Allocated["vcore"], int64(2000))
	assert.Equal(t, w.Series[0].OwedSeconds["vcore"], int64(5000*3600))
	assert.Equal(t, *w.Series[0].Fairness, 0.4)
	var queues []dao.QueueFairness
	read(&queues, "queues --queue root.A")
	assert.Equal(t, len(queues), 1)
	assert.Assert(t, queues[0].Starved && queues[0].WaitSeconds == 7200)
	var apps []applicationSummary
	read(&apps, "apps --user ann")
	assert.Equal(t, apps[0].PendingAsks, 1)
	assert.Equal(t, apps[0].RunningAllocations, 1)
	var nodes []nodeSummary
	read(&nodes, "nodes --node n1")
	assert.Equal(t, nodes[0].AllocationCount, 2)
	var b busiest
	read(&b, "top --watch=0")
	assert.Equal(t, b.Total.QueueName, "root")
}

func TestReaderCommands_Errors(t *testing.T) {
	address := usageServer(t)
	for args, want := range map[string]string{
		"queues --queue root.aa":             `there is no queue "root.aa": did you mean "root.a"`,
		"apps --queue root.c":                `there is no queue "root.c": `,
		"top --watch=0 --queue root.bb":      `there is no queue "root.bb": did you mean "root.b"`,
		"nodes --node n2":                    `there is no node "n2": `,
		"queues --partition defalt":          `there is no partition "defalt": did you mean "default"`,
		"usage --partition gpu":              `there is no partition "gpu": `,
		"usage --name root.aa":               `no usage of the queue "root.aa" is known: did you mean "root.a"`,
		"usage --since 1h --until 2h":        "is not before until",
		"usage --since 1000h --step 1s":      "more than 10000 points",
		"usage --since 2030-01-01T00:00:00Z": "is in the future",
		"usage --since 1h --step 10ms":       `step "10ms"`,
		"queues --timeout 1ns":               "",
		"queues --address 127.0.0.1:1":       "connection refused",
	} {
		list := strings.Fields(args)
		if !strings.Contains(args, "--address") {
			list = append(list, "--address", address)
		}
		code, out, errs := runCanopy(list...)
		assert.Equal(t, code, cmdline.Refused, args)
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.HasPrefix(errs, "canopy: ") && strings.Contains(errs, want), "%s: %s", args, errs)
	}
	for args, want := range map[string]string{
		"usage --by nobody":           `for "--by" flag: it must be queue, user or group`,
		"usage --since soon":          `for "--since" flag: it must be a time`,
		"usage --limit -1":            `for "--limit" flag: it must be 0 or more`,
		"queues --sort size":          `for "--sort" flag: it must be path, used, pending, wait or fairness`,
		"queues --watch=1ms":          `for "--watch" flag: it must be 0, or 100ms or more`,
		"apps --state gone":           `for "--state" flag: it must be active, completed or rejected`,
		"apps --sort size":            `for "--sort" flag: it must be used, pending, age or name`,
		"nodes --sort size":           `for "--sort" flag: it must be name, used or free`,
		"nodes --address here":        "--address",
		"top --limit 0":               `for "--limit" flag: it must be 1 or more`,
		"top --timeout 0s":            `for "--timeout" flag: it must be above 0`,
		"serve --usage-interval 1ms":  "--usage-interval is 1ms",
		"serve --usage-retention -1h": "--usage-retention is -1h0m0s",
		"serve --usage-max-bytes -1":  "--usage-max-bytes is -1",
	} {
		code, _, errs := runCanopy(strings.Fields(args)...)
		assert.Equal(t, code, cmdline.Usage, args)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", args, errs)
	}
}
