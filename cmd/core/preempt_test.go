package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

type discardSink struct{}

func (discardSink) Deliver([]scheduler.Effect) {}

// preemptServer serves a partition with a full node and preemption.priority: leaf. The ask high is
// nominated for the node and waits for the victim low to terminate.
func preemptServer(t *testing.T) (address string) {
	conf, problems := queuesyaml.Load([]byte(`partitions:
- name: default
  queues:
  - name: root
    submitacl: '*'
    queues:
    - {name: a, properties: {preemption.priority: leaf}}
    - {name: b, resources: {guaranteed: {vcore: 2}}}
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
	ask := func(key string, priority int32) *objects.Ask {
		return &objects.Ask{Key: objects.AllocationKey(key), App: "x", Amounts: vcore(2000), Priority: priority,
			Created: objects.TimestampOf(noon.Add(-time.Hour)),
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther}
	}
	for _, cmd := range []scheduler.Command{
		scheduler.AddNode{Node: "n1", Total: vcore(4000), Schedulable: true},
		scheduler.AddApplication{App: "x", User: security.User{Name: "ann"}, Queue: "root.a"},
		scheduler.ReportAllocation{Ask: ask("low", 1), Node: "n1"},
		scheduler.ReportAllocation{Ask: ask("mid", 2), Node: "n1"},
		scheduler.SubmitAsk{Ask: ask("high", 9)},
	} {
		_, err := l.Call(t.Context(), cmd)
		assert.NilError(t, err)
	}
	_, err := l.Call(t.Context())
	assert.NilError(t, err)
	server := httptest.NewServer(webservice.Handler(c, webservice.Options{}))
	t.Cleanup(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

func TestPreemptCommand_DryRun(t *testing.T) {
	inDirectory(t)
	address := preemptServer(t)
	writeFile(t, "ask.yaml", "user: eve\nqueueName: root.a\npriority: 5\nresource: {vcore: 2}\n")
	code, out, errs := runCanopy("preempt", "--dry-run", "--ask", "ask.yaml", "--address", address)
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Equal(t, trimLines(out), `preempts on node n1
ask of user eve in queue root.a, priority 5: vcore 2
it is hypothetical, so predicates were not checked
now: no headroom in the cluster

REASON     ENTITLED  WHY NOT
node       no        requires no node
guarantee  no        no queue guarantees a requested resource
priority   yes

reason priority: 1 of 1 nodes compared, 0 without a plan, 0 rejected, 0 infeasible, 0 not evaluated
  plan for node n1: mid (2)

VICTIM  APPLICATION  QUEUE   NODE  PRIORITY  HELD     FOR     STATE
mid     x            root.a  n1    2         vcore 2  1h0m0s  terminating

ON NODE n1  APPLICATION  QUEUE   PRIORITY  OUTCOME
low         x            root.a  1         is already being preempted
mid         x            root.a  2         victim
`)

	code, out, _ = runCanopy("preempt", "--dry-run", "--ask", "ask.yaml", "--address", address, "--json")
	assert.Equal(t, code, 0)
	var s dryRunAnswer
	assert.NilError(t, json.Unmarshal([]byte(out), &s))
	assert.Equal(t, s.Outcome, scheduler.WouldPreempt)
	_, other, _ := runCanopy("preempt", "--dry-run", "--ask", "ask.yaml", "--address", address, "-o", "json")
	assert.Equal(t, other, out)

	writeFile(t, "small.yaml", "user: eve\nqueueName: root.b\nresource: {vcore: 2}\n")
	code, out, errs = runCanopy("preempt", "--dry-run", "--ask", "small.yaml", "--address", address)
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, errs, "")
	assert.Assert(t, strings.HasPrefix(out, "does not fit, and has no victims\n"), out)
	assert.Assert(t,
		strings.Contains(out, "the preemption delay of the queue has not passed: root.b, until 2026-01-02T12:00:30Z\n"), out)
}

// trimLines is a text without the space that tables put behind their last column.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestPreemptCommand_ListAndShow(t *testing.T) {
	address := preemptServer(t)
	code, out, errs := runCanopy("preempt", "--list", "--address", address)
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, `NUMBER  TIME                  REASON    FOR   NODE  VICTIMS  OUTCOME
1       2026-01-02T12:00:00Z  priority  high  n1    1        waits
1 listed, 1 remembered, 1 in total
`)
	_, out, _ = runCanopy("preempt", "--list", "--application", "y", "--queue", "root.a", "--reason", "priority",
		"--limit", "3", "--address", address)
	assert.Assert(t, strings.Contains(out, "0 listed, 1 remembered, 1 in total\n"), out)

	code, out, _ = runCanopy("preempt", "--show", "1", "--address", address)
	assert.Equal(t, code, 0)
	assert.Equal(t, trimLines(out), `preemption 1 at 2026-01-02T12:00:00Z, reason priority
for ask high of application x of user ann in queue root.a, priority 9: vcore 2
on node n1; nodes compared 1, without a plan 0, rejected 0
nomination: waits

VICTIM  APPLICATION  QUEUE   NODE  PRIORITY  HELD     FOR     STATE
low     x            root.a  n1    1         vcore 2  1h0m0s  terminating

ON NODE n1  APPLICATION  QUEUE   PRIORITY  OUTCOME
low         x            root.a  1         victim
mid         x            root.a  2         eligible, but not needed
`)
	_, out, _ = runCanopy("preempt", "--show", "1", "--address", address, "--json")
	var p preemptionAnswer
	assert.NilError(t, json.Unmarshal([]byte(out), &p))
	assert.Equal(t, p.Number, uint64(1))
}

func TestPreemptCommand_InvalidFlagsAreRejected(t *testing.T) {
	inDirectory(t)
	address := preemptServer(t)
	writeFile(t, "ask.yaml", "user: eve\nqueueName: root.x\nresource: {vcore: 2}\n")
	writeFile(t, "odd.yaml", "usr: eve\n")
	writeFile(t, "long.yaml", strings.Repeat("# nothing\n", 7000))
	at := " --address " + address
	for args, want := range map[string]string{
		"--ask ask.yaml" + at: "preemption cannot be triggered by hand, there is a dry run only: give " +
			"--dry-run with --ask, or --list, or --show",
		"--dry-run" + at:               "--ask names no file",
		"--list --ask ask.yaml" + at:   "--ask is for --dry-run",
		"--list --show 1" + at:         "--dry-run, --list and --show exclude each other",
		"--show 1 --reason node" + at:  "--application, --queue, --reason and --limit are for --list",
		"--show 0" + at:                "--show takes the number of a preemption, from 1 on",
		"--show x" + at:                `invalid argument "x" for "--show" flag`,
		"--list --limit 0" + at:        `for "--limit" flag: it must be 1 or more`,
		"--list --timeout 0s" + at:     `for "--timeout" flag: it must be above 0`,
		"--list -o xml" + at:           `for "--output" flag: it must be text or json`,
		"--list --address nowhere":     `for "--address" flag: address nowhere: missing port`,
		"--list --address 127.0.0.1:1": "127.0.0.1:1",
		"--list more" + at:             "more",
		"--list --partition gpu" + at:  `there is no partition "gpu": it is one of default`,
		"--list --reason might" +
			at: `reason "might": it is one of node, guarantee, fairshare, priority, quota, pressure, operator`,
		"--show 7" + at:                                                 "preemption 7 not found",
		"--dry-run --ask missing.yaml" + at:                             "--ask: open missing.yaml",
		"--dry-run --ask ask.yaml" + at:                                 "the ask would be rejected: unknown queue root.x",
		"--dry-run --ask odd.yaml" + at:                                 `unknown field "usr": did you mean "user"?`,
		"--dry-run --ask long.yaml" + at:                                "the body is longer than 65536 bytes",
		"--dry-run --ask -" + at:                                        "the body is empty: send an ask",
		"--dry-run --ask ask.yaml --partition a/b --address " + address: `there is no partition "a/b"`,
	} {
		code, out, errs := runCanopy(append([]string{"preempt"}, strings.Fields(args)...)...)
		assert.Equal(t, code, cmdline.Usage, args)
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", args, errs)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hello"))
	}))
	defer other.Close()
	code, _, errs := runCanopy("preempt", "--list", "--address", strings.TrimPrefix(other.URL, "http://"))
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "answers with an unexpected body"), errs)
}

// Cool-downs and unknown confirmations are printed below the list.
func TestPreemptCommand_ListShowsCoolDownsAndUnknownConfirmations(t *testing.T) {
	all := decoded[preemptionList](t, `{"total": 7, "remembered": 5, "unknownConfirmations": 3,
		"coolDowns": [{"queueNames": ["root.a", "root.b"], "since": 1, "until": 60000000000}]}`)
	var b strings.Builder
	assert.NilError(t, printPreemptions(&b, all))
	assert.Equal(t, trimLines(b.String()), `NUMBER  TIME  REASON  FOR  NODE  VICTIMS  OUTCOME
0 listed, 5 remembered, 7 in total
queues root.a and root.b may not preempt each other until 1970-01-01T00:01:00Z: cool-down after a preemption cycle
3 confirmations were of unknown victims
`)
}

// A server of a later version may have reasons, states and outcomes that this command does not know.
func TestPreemptCommand_CodesOfALaterServer(t *testing.T) {
	var b strings.Builder
	assert.NilError(t, printPreemptions(&b, decoded[preemptionList](t, `{"total": 1, "remembered": 1, "preemptions": [
		{"number": 1, "time": 60000000000, "preemptionReason": "later", "triedReasons": ["sooner"], "nodeID": "n1",
			"ask": {"allocationKey": "k", "resource": {"vcore": 1000}}, "victims": [{"state": "is late"}],
			"nomination": {"state": "waits longer"}}]}`)))
	assert.NilError(t, printDryRun(&b, decoded[dryRunAnswer](t, `{"outcome": "may fit", "verdict": "it is later",
		"ask": {"user": "ann", "queueName": "root.a", "resource": {"vcore": 1000}}, "pending": true, "entitlements":
		[{"preemptionReason": "later", "entitled": false, "reason": "is early", "entitledAt": 60000000000}]}`)))
	assert.Equal(t, trimLines(b.String()), `NUMBER  TIME                  REASON  FOR  NODE  VICTIMS  OUTCOME
1       1970-01-01T00:01:00Z  later   k    n1    1        waits longer
1 listed, 1 remembered, 1 in total
may fit
ask of user ann in queue root.a, priority 0: vcore 1
now: it is later

REASON  ENTITLED  WHY NOT
later   no        is early, until 1970-01-01T00:01:00Z
`)
}
