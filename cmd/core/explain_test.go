package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

func TestExplainCommand_PendingAndAllocatedKeys(t *testing.T) {
	address := preemptServer(t)
	code, out, errs := runCanopy("explain", "high", "--address", address)
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Equal(t, trimLines(out), `high of application x, user ann, queue root.a, priority 9: vcore 2
pending since 2026-01-02T11:00:00Z, 1h0m0s
it is nominated for node n1, where victims have still to end: 1

RESOURCE  REQUESTED  QUEUE HEADROOM  LIMIT HEADROOM  CLUSTER HEADROOM  MOST FREE ON A NODE  LARGEST NODE
vcore     2          no bound        no bound        0 of 4            0                    4

1 of 2 gates is closed:
  it is nominated for node n1, where victims have still to end: 1
    - no change helps: it has to be waited for

preemption:
  node       no: requires no node
  guarantee  no: no queue guarantees a requested resource
  priority   it may preempt
`)
	code, out, _ = runCanopy("explain", "low", "--address", address)
	assert.Equal(t, code, 0)
	assert.Assert(t,
		strings.HasPrefix(out,
			"low of application x, user ann, queue root.a, priority 1: vcore 2\nit was preempted at 2026-01-02T12:00:00Z"), out)

	code, out, _ = runCanopy("explain", "high", "--address", address, "-o", "json")
	assert.Equal(t, code, 0)
	var e struct{ Verdict struct{ Code string } }
	assert.NilError(t, json.Unmarshal([]byte(out), &e))
	assert.Equal(t, e.Verdict.Code, "waitsForVictims")
}

// An application is found by its ID if no key is the same, and is explained by groups of asks (EXP-7).
func TestExplainCommand_Application(t *testing.T) {
	address := preemptServer(t)
	code, out, errs := runCanopy("explain", "x", "--address", address)
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Assert(t,
		strings.HasPrefix(out,
			"application x, Running, user ann, queue root.a: 1 pending ask\n\n1 ask like this one:\nhigh of application x"), out)

	code, out, _ = runCanopy("explain", "x", "--application", "--address", address, "-o", "json")
	assert.Equal(t, code, 0)
	var e applicationExplanation
	assert.NilError(t, json.Unmarshal([]byte(out), &e))
	assert.Equal(t, e.Groups[0].First.Key, objects.AllocationKey("high"))

	code, _, errs = runCanopy("explain", "high", "--application", "--address", address)
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, errs, "canopy: high: Application not found\n")
}

// decoded is an answer as a command reads it.
func decoded[T any](t *testing.T, body string) *T {
	t.Helper()
	into := new(T)
	assert.NilError(t, answer.Decode([]byte(body), into))
	return into
}

func TestPrintExplanation_BackOff(t *testing.T) {
	var out strings.Builder
	assert.NilError(t, printExplanation(&out, decoded[explanation](t, `{"allocationKey": "k", "applicationID": "a",
		"state": "pending", "message": "no node fits",
		"verdict": {"code": "c", "backOff": [{"message": "preemption is evaluated again at noon"}]}}`)))
	assert.Assert(t, strings.HasSuffix(out.String(), "no node fits\npreemption is evaluated again at noon\n"),
		out.String())
}

// An ask that may preempt, and has no victims: the explanation says what it lacks on nodes and of quotas (EXP-18).
func TestPrintExplanation_VictimSearches(t *testing.T) {
	var out strings.Builder
	assert.NilError(t, printExplanation(&out, decoded[explanation](t, `{"allocationKey": "k", "applicationID": "a",
		"time": 1, "searchedAt": 1767355200000000000,
		"entitlements": [{"preemptionReason": "priority", "reason": "the preemption delay of the queue has not passed"}],
		"searches": [
			{"preemptionReason": "guarantee", "totalNodes": 5, "nodes": {"noPlan": 3}, "infeasible": 2,
				"noPlanReasons": {"no eligible victim": 1, "eligible victims hold too little": 2},
				"youngUntil": 1767355260000000000,
				"blockingQuotas": [{"quota": "queue root.a has too little headroom", "shortfall": {"vcore": 2000}, "nodes": 3}]},
			{"preemptionReason": "priority", "found": true, "totalNodes": 5, "nodes": {"compared": 5},
				"plans": [{"nodeID": "n1", "victims": [{"allocationKey": "v", "priority": 3}]}]}]}`)))
	_, found, _ := strings.Cut(trimLines(out.String()), "\npreemption:\n")
	assert.Equal(t, found, `  priority  no: the preemption delay of the queue has not passed
  when it is entitled, at 2026-01-02T12:00:00Z, as things are:
  reason guarantee: 0 of 5 nodes compared, 3 without a plan, 0 rejected, 2 infeasible, 0 not evaluated
    eligible victims hold too little: nodes 2
    no eligible victim: nodes 1
    the first minimum run time ends at 2026-01-02T12:01:00Z
    queue root.a has too little headroom: shortfall vcore 2
  reason priority: 5 of 5 nodes compared, 0 without a plan, 0 rejected, 0 infeasible, 0 not evaluated
    plan for node n1: v (3)
`)
}

// The figures of a guarantee that is exceeded, and what preemption.guarantee: lacking changes (PRE-121).
func TestPrintExplanation_Guarantees(t *testing.T) {
	var out strings.Builder
	assert.NilError(t, printExplanation(&out, decoded[explanation](t, `{"allocationKey": "k", "applicationID": "a",
		"entitlements": [
			{"preemptionReason": "guarantee", "reason": "the queue would exceed its guarantee", "queueName": "root.a",
				"overGuarantee": [{"resource": "vcore", "guaranteed": 4000, "used": 6000, "requested": 1000}],
				"lacking": ["gpu", "memory"]},
			{"preemptionReason": "guarantee", "entitled": true, "queueName": "root.a",
				"overGuarantee": [{"resource": "vcore", "guaranteed": 4000, "used": 6000, "requested": 1000}]}]}`)))
	_, found, _ := strings.Cut(trimLines(out.String()), "\npreemption:\n")
	const figures = "root.a; vcore: 4 guaranteed, 6 used, 1 requested"
	assert.Equal(t, found, "  guarantee  no: the queue would exceed its guarantee, "+figures+
		"; preemption.guarantee: lacking would entitle it by gpu, memory\n"+
		"  guarantee  it may preempt, "+figures+", so no victims for it\n")
}

func TestExplainCommand_OldAgesAreInDays(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "0s", 72*time.Minute + 3400*time.Millisecond: "1h12m3s", 48*time.Hour - time.Minute: "47h59m0s",
		48 * time.Hour:                   "2d0h",
		235741*time.Hour + 8*time.Minute: "9822d13h",
	} {
		assert.Equal(t, ageText(age), want)
	}
}

func TestExplainCommand_InvalidArguments(t *testing.T) {
	address := preemptServer(t)
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{[]string{"a/b c%"}, cmdline.Refused, `canopy: no ask or allocation has the key "a/b c%"`},
		{[]string{"high", "--partition", "other"}, cmdline.Refused, "canopy: Partition not found"},
		{[]string{}, cmdline.Usage, "canopy: explain takes one argument: KEY|APPLICATION\n"},
		{[]string{""}, cmdline.Usage, "canopy: explain takes one argument: KEY|APPLICATION\n"},
		{[]string{"a", "b"}, cmdline.Usage,
			"canopy: explain takes one argument: KEY|APPLICATION\n"},
		{[]string{"high", "--output", "xml"}, cmdline.Usage, ""},
		{[]string{"high", "--timeout", "0s"}, cmdline.Usage,
			`canopy: invalid argument "0s" for "--timeout" flag: it must be above 0`},
	} {
		code, out, errs := runCanopy(append([]string{"explain", "--address", address}, c.args...)...)
		assert.Equal(t, code, c.code, "%v: %s", c.args, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.HasPrefix(errs, c.errs), "%v: %s", c.args, errs)
	}
	code, _, errs := runCanopy("explain", "x", "--address", "127.0.0.1")
	assert.Equal(t, code, cmdline.Usage, errs)
	code, _, errs = runCanopy("explain", "x", "--address", "127.0.0.1:1")
	assert.Equal(t, code, cmdline.Refused, errs)
	code, out, errs := runCanopy("explain", "none", "--address", address, "--output", "json")
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, errs, "")
	assert.Assert(t, strings.Contains(out, `"state": "unknown"`), out)
}
