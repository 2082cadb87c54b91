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

// Who leaves, and what follows, beyond the given scenarios. The node has 4 thousandths of a vcore
// and room for two. Each row is a talk: "run" reports an allocation, "ask" submits an ask, "end" is
// a release by the resource manager, "left" its confirmation of a preemption; a line is
// "verb key priority vcore [what else]", and after ">" stands what is heard.
func TestRequirements_Preemption(t *testing.T) {
	for _, c := range []struct {
		name string
		off  bool // preemption.enabled: false
		talk string
	}{
		{name: "S2-13 who is preempted is told so, and what the resource manager ends is no preemption", talk: `
			run low 0 4 >
			ask high 9 4 > low preempted
			left low > high placed
			end high > high stopped by rm`},
		{name: "S2-25 what counts is what was asked for, not what is used", talk: `
			run small 0 1 usage={"vcore":"4m"} >
			run large 0 3 usage={"vcore":"0m"} >
			ask high 9 3 > large preempted`},
		{name: "S2-27 who holds nothing but a slot leaves where slots are short", talk: `
			run busy 9 1 >
			run slot 0 0 >
			ask high 5 1 > slot preempted
			left slot > high placed`},
		{name: "S2-8 S2-29 who may not preempt is still the first when there is room", talk: `
			run old 0 4 >
			ask least 1 4 never >
			ask never 9 4 never >
			end old > old stopped by rm, never placed`},
		{name: "S0-35 priority counts before the quality of service", talk: `
			run guaranteed 0 2 qos=Guaranteed >
			run best 5 2 qos=BestEffort >
			ask high 9 2 > guaranteed preempted`},
		{name: "S0-35 which decides among equals, where it is asked for", talk: `
			run best 5 2 qos=BestEffort >
			run guaranteed 5 2 qos=Guaranteed >
			ask high 9 2 > best preempted`},
		{name: "S4-14 who sends no policy may not preempt", talk: `
			run low 0 4 >
			ask high 9 4 bare >`},
		{name: "S3-8 without preemption the order stays", off: true, talk: `
			run old 0 4 >
			ask least 1 4 >
			ask high 9 4 >
			end old > old stopped by rm, high placed`},
		{name: "S2-12 S3-24 S3-48 while a node has room nobody leaves", talk: `
			run low 0 2 >
			ask high 9 2 > high placed
			end low > low stopped by rm
			ask higher 99 1 > higher placed`},
		{name: "S2-34 in a cluster full of user work both of the system's classes find a place", talk: `
			run one 1000000000 2 >
			run two 1000000000 2 >
			ask cluster-critical 2000000000 2 > two preempted
			left two > cluster-critical placed
			ask node-critical 2000001000 2 > one preempted
			left one > node-critical placed`},
		{name: "S3-37 S3-38 S3-53 S3-55 as soon as the last has left, and not before, and no time goes by", talk: `
			run a 0 2 >
			run b 0 2 >
			ask high 9 4 > a preempted, b preempted
			left b >
			ask equal 9 1 >
			left a > high placed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
			leaf.PriorityPreemption, leaf.VictimQoS = policies.PriorityPreemptionLeaf, policies.VictimQoSEnabled
			core := scheduler.New(configs.Partition{Name: "default", PreemptionEnabled: !c.off, Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(), Children: []configs.Queue{leaf},
			}}, nil)
			core.Step(epoch, scheduler.AddNode{Node: "n", Total: amountsFromMap(map[string]int64{"vcore": 4, "pods": 2}), Schedulable: true})
			for _, line := range strings.Split(strings.TrimSpace(c.talk), "\n") {
				command, want, ok := strings.Cut(strings.TrimSpace(line), ">")
				assert.Assert(t, ok, line)
				assert.Equal(t, applyLine(t, core, strings.Fields(command)), strings.TrimSpace(want), line)
				assert.NilError(t, core.Check())
			}
		})
	}
}

// applyLine says one thing to a core at the time of epoch, and is what it says then.
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
				x.Tags = map[string]string{objects.UsageTag: value}
			case "qos":
				x.Tags = map[string]string{priorities.QoSTag: value}
			case "never":
				x.Policy = objects.PolicySent.With(objects.PolicyAllowPreemptSelf, true)
			case "bare":
				x.Policy = 0
			default:
				t.Fatalf("unknown word %q", f[4])
			}
		}
		core.Step(epoch, scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: "root.a"})
		var cmd scheduler.Command = scheduler.SubmitAsk{Ask: x}
		if f[0] == "run" {
			cmd = scheduler.ReportAllocation{Ask: x, Node: "n"}
		}
		core.Step(epoch, cmd)
	case "end":
		collect(core.Step(epoch, scheduler.Release{App: app, Key: key, Type: scheduler.StoppedByRM}))
	case "left":
		collect(core.Step(epoch, scheduler.Release{App: app, Key: key, Type: scheduler.PreemptedByScheduler}))
	default:
		t.Fatalf("unknown verb %q", f[0])
	}
	decided, _ := core.Schedule(epoch, 100)
	collect(decided)
	return strings.Join(out, ", ")
}
