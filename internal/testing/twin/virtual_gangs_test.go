package twin

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// virtualGangRun returns a random run of gangs with virtual placeholders, and some other asks, on a few nodes.
func virtualGangRun(t *testing.T, seed uint64) randomrun.Run {
	s := newScript(t, gangConfig, seed, 68)
	withReservations(&s.Partition, seed)
	s.Partition.Reservation.Enabled = seed%2 == 0
	s.Oracle = pick(s, randomrun.NoOracle, randomrun.NoOracle, randomrun.NoOracle, randomrun.RejectSome)
	s.Shapes = pick(s, feasibility.DefaultShapes, 2)
	nodes := []objects.NodeID{"n1", "n2", "n3", "n4"}
	for _, n := range nodes {
		s.add(0, scheduler.AddNode{Node: n, Total: vcores(9), Schedulable: true})
	}
	var apps []objects.AppID
	keys := 0
	anyKey := func() objects.AllocationKey { return objects.AllocationKey(fmt.Sprint("k", max(0, keys-s.IntN(25)))) }
	for len(s.Steps) < stepsPerRun*2/3 {
		after := time.Duration(s.IntN(3)) * time.Second / 2
		switch x := s.IntN(46); {
		case len(apps) == 0 || x < 3:
			id := objects.AppID(fmt.Sprint("app", len(apps)))
			apps = append(apps, id)
			gang := gangs.Spec{Style: pick(s, gangs.Soft, gangs.Hard),
				Timeout: time.Duration(pick(s, 2+s.IntN(20), 100)) * time.Second}
			if !s.OneIn(4) {
				gang.Virtual = []gangs.VirtualGroup{{Name: "g", MinMember: 1 + s.IntN(3)}}
				if s.OneIn(2) {
					gang.Virtual = append(gang.Virtual, gangs.VirtualGroup{Name: "h", MinMember: 1 + s.IntN(2)})
				}
			}
			s.add(after,
				scheduler.AddApplication{App: id, Queue: pick(s, "root.a", "root.b"),
					User: security.User{Name: pick(s, "u", "v")}, Gang: gang})
		case x < 20:
			app := apps[max(0, len(apps)-1-s.IntN(2))]
			groups := []string{"g", "g", "h", "", pick(s, "g", "h")}
			for _, group := range groups[s.IntN(3) : 3+s.IntN(3)] { // the members of a gang come together
				keys++
				ask := &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("k", keys)), App: app, Amounts: vcores(pick(s, 3, 3, 2, 4, 5, 7)),
					Placeholder: s.OneIn(20),
					Policy: pick(s, 0,
						objects.PolicySent|objects.PolicyAllowPreemptOther|objects.PolicyAllowPreemptSelf),
					Priority: int32(s.IntN(2)),
					Details:  objects.NewAskDetails(objects.AskDetails{TaskGroup: group}),
				}
				if s.OneIn(15) {
					ask.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: "g",
						RequiredNode: pick(s, nodes...)})
				}
				s.add(0, scheduler.SubmitAsk{Ask: ask})
			}
		case x < 26:
			s.add(after,
				scheduler.Release{App: apps[max(0, len(apps)-1-s.IntN(2))], Key: anyKey(),
					Type: pick(s, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		case x == 26:
			s.add(after, scheduler.RemoveApplication{App: apps[s.IntN(len(apps))]})
		case x == 27 || x == 45: // resources become free for those that wait
			s.add(after,
				scheduler.Release{App: apps[s.IntN(len(apps))], Scope: scheduler.OnlyAllocations, Type: scheduler.StoppedByRM})
			s.schedule(2*time.Second, 10)
		case x == 28:
			s.add(after, scheduler.RemoveNode{Node: pick(s, nodes...)})
		case x < 31:
			s.add(after, scheduler.AddNode{Node: pick(s, nodes...), Total: vcores(9), Schedulable: true})
		case x == 31:
			s.add(after, scheduler.SetSchedulable{Node: pick(s, nodes...), Schedulable: s.IntN(2) > 0})
		case x == 32:
			s.add(after, scheduler.SetCapacity{Node: pick(s, nodes...), Total: vcores(6 + s.IntN(6))})
		case x == 33: // a member that was placed before a restart, or a resize
			ask := &objects.Ask{Key: anyKey(), App: apps[s.IntN(len(apps))], Amounts: vcores(1 + s.IntN(4)),
				Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: "g"})}
			if s.OneIn(2) {
				s.add(after, scheduler.SubmitAsk{Ask: ask})
			} else {
				s.add(after, scheduler.ReportAllocation{Ask: ask, Node: pick(s, nodes...)})
			}
		default:
			s.schedule(after, pick(s, 1, 3, 10))
		}
	}
	return s.Run
}

// Core and twin agree about gangs with virtual placeholders, and all of the members that are placed together are placed
// in one run of decisions (GAN-20).
func TestRandomRuns_VirtualGangs(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	agree(t, 0, runs, virtualGangRun, observeVirtualGangs, seen)
	checkOften(t, runs, seen, map[string]int{
		"placed together": runs / 2, "of two task groups": runs / 5, "refused": runs, "incomplete": runs,
		"asks cancelled by a timeout": runs / 6,
		"reserved together":           runs / 4, "with reservations": runs / 30, "Resuming": runs / 6, "Failed": runs / 6,
		"reported": runs / 30,
	})
}

// observeVirtualGangs checks that members are placed together, and counts what happens.
func observeVirtualGangs(t *testing.T, core *scheduler.Core, seen map[string]int) stepObserver {
	return func(step randomrun.Step) func([]scheduler.Effect) {
		waiting := map[objects.AppID]map[string]int{} // how many members are placed together
		for _, a := range applicationsOf(core.Partition()) {
			if g := a.Gang(); g != nil && g.Waits() {
				waiting[a.ID()] = map[string]int{}
				for _, group := range g.Groups() {
					waiting[a.ID()][group.Name] = group.Live()
				}
				if _, incomplete := g.Incomplete(); incomplete {
					seen["incomplete"]++
				}
				seen["refused"] += boolToInt(g.Refusal() != "")
			}
		}
		reserving := core.Partition().Reservations().Gang()
		return func(effects []scheduler.Effect) {
			if after := core.Partition().Reservations().Gang(); after != nil && after != reserving {
				seen["reserved together"]++
			}
			placed := map[objects.AppID]map[string]int{}
			for _, e := range effects {
				switch e := e.(type) {
				case scheduler.Allocated:
					if waiting[e.Ask.App][e.Ask.TaskGroup()] == 0 || e.Ask.Placeholder {
						continue
					}
					if step.Command != nil {
						seen["reported"]++
						continue
					}
					if placed[e.Ask.App] == nil {
						placed[e.Ask.App] = map[string]int{}
					}
					placed[e.Ask.App][e.Ask.TaskGroup()]++
				case scheduler.AskTimedOut:
					seen["asks cancelled by a timeout"]++
				case scheduler.ApplicationUpdated:
					seen[e.State.String()]++
				}
			}
			for _, a := range applicationsOf(core.Partition()) { // after a timeout they are placed one by one
				if g := a.Gang(); g != nil && g.Virtual() && g.Groups()[0].TimedOut > 0 {
					delete(placed, a.ID())
				}
			}
			for app, groups := range placed {
				for group, n := range waiting[app] {
					assert.Assert(t, groups[group] >= n, "%d of %d members of task group %s of %s are placed",
						groups[group], n, group, app)
				}
				seen["placed together"]++
				seen["with reservations"] += boolToInt(reserving != nil && reserving.ID() == app)
				seen["of two task groups"] += boolToInt(len(waiting[app]) > 1)
			}
		}
	}
}

// applicationsOf returns the applications of the two leaves of gangConfig.
func applicationsOf(p *objects.Partition) (apps []*objects.Application) {
	for _, path := range []objects.QueuePath{"root.a", "root.b"} {
		if q, ok := p.Queue(path); ok {
			apps = append(apps, q.Applications()...)
		}
	}
	return apps
}
