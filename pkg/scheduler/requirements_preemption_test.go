package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Requirements of preemption beyond the given scenarios. The node has 4 thousandths of a vcore and 2 pods.
// Each line of a case is "command key priority vcore [option]" and, behind ">", the placements and releases
// that follow. Commands: run reports an allocation, ask submits an ask, release is a release by the
// resource manager, confirm its confirmation of a preemption.
func TestRequirements_Preemption(t *testing.T) {
	for _, c := range []struct {
		name  string
		off   bool // preemption.enabled: false
		lines string
	}{
		{name: "S2-13 a victim has the type preempted, a release by the resource manager has not", lines: `
			run low 0 4 >
			ask high 9 4 > low preempted
			confirm low > high placed
			release high > high stopped by rm`},
		{name: "S2-25 requests count, not usage", lines: `
			run small 0 1 usage={"vcore":"4m"} >
			run large 0 3 usage={"vcore":"0m"} >
			ask high 9 3 > large preempted`},
		{name: "S2-27 a victim that only holds a pod slot", lines: `
			run busy 9 1 >
			run slot 0 0 >
			ask high 5 1 > slot preempted
			confirm slot > high placed`},
		{name: "S2-8 S2-29 an ask that may not preempt is still placed in order of priority", lines: `
			run old 0 4 >
			ask least 1 4 never >
			ask never 9 4 never >
			release old > old stopped by rm, never placed`},
		{name: "S0-35 priority before quality of service", lines: `
			run guaranteed 0 2 qos=Guaranteed >
			run best 5 2 qos=BestEffort >
			ask high 9 2 > guaranteed preempted`},
		{name: "S0-35 quality of service between equal priorities, if it is enabled", lines: `
			run best 5 2 qos=BestEffort >
			run guaranteed 5 2 qos=Guaranteed >
			ask high 9 2 > best preempted`},
		{name: "S4-14 an ask without a preemption policy may not preempt", lines: `
			run low 0 4 >
			ask high 9 4 unset >`},
		{name: "S3-8 with preemption disabled the order stays", off: true, lines: `
			run old 0 4 >
			ask least 1 4 >
			ask high 9 4 >
			release old > old stopped by rm, high placed`},
		{name: "S2-12 S3-24 S3-48 no preemption while a node is feasible", lines: `
			run low 0 2 >
			ask high 9 2 > high placed
			release low > low stopped by rm
			ask higher 99 1 > higher placed`},
		{name: "S2-34 asks of both system classes preempt allocations of users", lines: `
			run one 1000000000 2 >
			run two 1000000000 2 >
			ask cluster-critical 2000000000 2 > two preempted
			confirm two > cluster-critical placed
			ask node-critical 2000001000 2 > one preempted
			confirm one > node-critical placed`},
		{name: "S3-37 S3-38 S3-53 S3-55 the ask is placed when the last victim has ended, at once and not before", lines: `
			run a 0 2 >
			run b 0 2 >
			ask high 9 4 > a preempted, b preempted
			confirm b >
			ask equal 9 1 >
			confirm a > high placed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
			leaf.PriorityPreemption, leaf.VictimQoS = policies.PriorityPreemptionLeaf, policies.VictimQoSEnabled
			core := scheduler.New(configs.Partition{Name: "default", PreemptionEnabled: !c.off, Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
				Children: []configs.Queue{leaf},
			}}, nil)
			core.Step(epoch,
				scheduler.AddNode{Node: "n", Total: amountsFromMap(map[string]int64{"vcore": 4, "pods": 2}), Schedulable: true})
			for _, line := range strings.Split(strings.TrimSpace(c.lines), "\n") {
				command, want, ok := strings.Cut(strings.TrimSpace(line), ">")
				assert.Assert(t, ok, line)
				assert.Equal(t, applyLine(t, core, strings.Fields(command)), strings.TrimSpace(want), line)
				assert.NilError(t, core.Check())
			}
		})
	}
}

// applyLine applies one command to a core at epoch, schedules, and returns the placements and releases.
func applyLine(t *testing.T, core *scheduler.Core, f []string) string {
	t.Helper()
	app, key := objects.AppID("of-"+f[1]), objects.AllocationKey(f[1])
	var out []string
	collect := func(effects []scheduler.Effect) {
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Released:
				out = append(out, string(e.Key)+" "+e.Type.String())
			case scheduler.Allocated:
				out = append(out, string(e.Ask.Key)+" placed")
			}
		}
	}
	switch f[0] {
	case "run", "ask":
		x := askOf(t, []string{"", string(app), f[1], f[2], f[3]}, epoch.Add(-time.Minute))
		x.Amounts = amountsFromMap(map[string]int64{"vcore": int64(x.Amounts.Get("vcore")), "pods": 1})
		x.Policy = objects.PolicySent.With(objects.PolicyAllowPreemptSelf, true).With(objects.PolicyAllowPreemptOther, true)
		if len(f) > 4 {
			name, value, _ := strings.Cut(f[4], "=")
			switch name {
			case "usage":
				x.Details = &objects.AskDetails{Tags: map[string]string{objects.UsageTag: value}}
			case "qos":
				x.Details = &objects.AskDetails{Tags: map[string]string{priorities.QoSTag: value}}
			case "never":
				x.Policy = objects.PolicySent.With(objects.PolicyAllowPreemptSelf, true)
			case "unset":
				x.Policy = 0
			default:
				t.Fatalf("unknown option %q", f[4])
			}
		}
		core.Step(epoch, scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: "root.a"})
		var cmd scheduler.Command = scheduler.SubmitAsk{Ask: x}
		if f[0] == "run" {
			cmd = scheduler.ReportAllocation{Ask: x, Node: "n"}
		}
		core.Step(epoch, cmd)
	case "release":
		collect(core.Step(epoch, scheduler.Release{App: app, Key: key, Type: scheduler.StoppedByRM}))
	case "confirm":
		collect(core.Step(epoch, scheduler.Release{App: app, Key: key, Type: scheduler.PreemptedByScheduler}))
	default:
		t.Fatalf("unknown command %q", f[0])
	}
	decided, _ := core.Schedule(epoch, 100)
	collect(decided)
	return strings.Join(out, ", ")
}
