package randomrun

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maxRecentAsks bounds how many asks the generator remembers, so that most releases are of existing
// ones.
const maxRecentAsks = 40

// submit sends an ask, sometimes with a priority class that rejects it. Which one follows from the
// counts so far: another draw would change the runs of all seeds.
func (a *Generator) submit(ask *objects.Ask) scheduler.Command {
	m := scheduler.SubmitAskWithClass{Ask: ask, Class: "c"}
	switch a.askCount % 23 {
	case 3:
		m.RejectReason = "no such class"
	case 11:
		m.AllowedUsers = &security.ACL{}
	case 17:
		few := security.AllowList([]string{"u"}, []string{"dev"})
		m.AllowedUsers = &few
	case 19: // valid
	default:
		return scheduler.SubmitAsk{Ask: ask}
	}
	return m
}

// newAsk returns an ask, mostly a new one.
func (a *Generator) newAsk() *objects.Ask {
	a.askCount++
	if a.uniform && len(a.apps) > 0 && !a.OneIn(10) {
		one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
		return &objects.Ask{Key: a.askKey(), App: a.apps[0], Amounts: one,
			Details: &objects.AskDetails{Tags: a.tags(a.askCount)}}
	}
	ask := &objects.Ask{
		Key: a.askKey(), App: a.appID(), Amounts: a.shape(),
		Priority: a.priority(), Originator: a.OneIn(10), Created: a.createdTime(),
	}
	details := objects.AskDetails{Tags: a.tags(a.askCount)}
	if a.OneIn(12) {
		details.RequiredNode = a.nodeID()
	}
	ask.Policy = Pick(a, 0, objects.PolicySent|objects.PolicyAllowPreemptOther,
		objects.PolicySent|objects.PolicyAllowPreemptOther|objects.PolicyAllowPreemptSelf)
	if a.contended {
		details.TaskGroup = Pick(a, "", "", "g", "h")
		ask.Priority, ask.Originator = int32(a.IntN(10)), a.OneIn(4)
		ask.Policy = ask.Policy.With(objects.PolicySent, true).With(objects.PolicyAllowPreemptOther, !a.OneIn(8))
	}
	if a.OneIn(8) {
		ask.Placeholder, details.TaskGroup = true, Pick(a, "g", "g", "g", "g", "g", "g", "g", "")
	}
	ask.Details = objects.NewAskDetails(details)
	if a.OneIn(25) {
		known := a.knownAsk() // perhaps of another application
		ask.Key = known.Key
		if a.askCount%2 == 0 { // else it contradicts the known one
			ask.App, ask.Priority, ask.Placeholder, ask.Details = known.App, known.Priority, known.Placeholder, known.Details
		}
	}
	if a.OneIn(60) {
		ask.Key = a.foreignKey()
	}
	a.recentAsks = append(a.recentAsks, ask)
	if len(a.recentAsks) > maxRecentAsks {
		a.recentAsks = a.recentAsks[len(a.recentAsks)-maxRecentAsks:]
	}
	return ask
}

func (a *Generator) askKey() objects.AllocationKey {
	return objects.AllocationKey(fmt.Sprintf("k%d", a.askCount))
}

// createdTime returns a creation time in whole seconds, or none.
func (a *Generator) createdTime() objects.Timestamp {
	if a.OneIn(2) {
		return 0
	}
	back := time.Duration(Pick(a, 0, 1, 1, 5, 60, 600)) * time.Second
	return objects.TimestampOf(StartTime().Add(a.elapsed - back).Truncate(time.Second))
}

// knownAsk returns an ask that was sent before, or an unknown one.
func (a *Generator) knownAsk() *objects.Ask {
	if len(a.recentAsks) == 0 || a.OneIn(15) {
		return &objects.Ask{Key: "unknown", App: a.appID(), Amounts: a.shape()}
	}
	return Pick(a, a.recentAsks...)
}

func (a *Generator) resizedAsk() *objects.Ask {
	ask := *a.knownAsk()
	ask.Amounts = a.shape()
	if a.OneIn(2) {
		ask.Amounts = a.amounts()
	}
	priority := a.priority()
	ask.Created = a.createdTime() // which changes nothing
	if a.askCount%8 == 0 {
		ask.Priority = priority // a contradiction, unless it is equal
	}
	return ask.WithTags(a.tags(-a.askCount))
}

// reportedAsk returns a recovered allocation: a known ask unchanged, a known one with other amounts, or a
// new one.
func (a *Generator) reportedAsk() *objects.Ask {
	switch a.IntN(4) {
	case 0:
		return a.knownAsk()
	case 1:
		return a.resizedAsk()
	}
	return a.newAsk()
}

func (a *Generator) release() scheduler.Release {
	was := a.knownAsk()
	r := scheduler.Release{App: was.App, Key: was.Key, Type: scheduler.Termination(a.IntN(5))}
	switch a.releases++; a.releases % 44 { // not drawn, so that the rest of a run does not depend on it
	case 14:
		r.Scope = scheduler.OnlyAsks
	case 28:
		r.Scope = scheduler.OnlyAllocations
	}
	switch {
	case a.OneIn(12):
		r.Key = ""
	case a.OneIn(25):
		r.App = a.appID()
	case r.Scope == scheduler.AsksAndAllocations: // else it may stay
		a.recentAsks = slices.DeleteFunc(a.recentAsks, func(x *objects.Ask) bool { return x == was })
	}
	return r
}

// shape returns one of the run's shapes, if it has any.
func (a *Generator) shape() resources.Amounts {
	if len(a.shapes) == 0 || a.OneIn(12) {
		return a.amounts()
	}
	return Pick(a, a.shapes...)
}

func (a *Generator) amounts() resources.Amounts {
	m := map[string]resources.Quantity{}
	if a.contended {
		return resources.FromMap(map[string]resources.Quantity{"vcore": Pick[resources.Quantity](a, 1, 1, 2, 3, 4),
			"memory": 1})
	}
	for _, name := range []string{"vcore", "memory", "gpu"}[:1+a.IntN(3)] {
		m[name] = Pick[resources.Quantity](a, 1, 1, 1, 2, 3, 4, 7, 0)
	}
	switch a.IntN(90) {
	case 0:
		m["disk"] = 1
	case 1:
		m["vcore"] = -1
	case 2:
		m["memory"] = math.MaxInt64 - resources.Quantity(a.IntN(3))
	case 3:
		m["memory"] = math.MaxInt64/2 + 1
	case 4:
		return resources.Amounts{}
	}
	return resources.FromMap(m)
}

func (a *Generator) appCommand() scheduler.Command {
	if len(a.apps) > 2 && a.OneIn(3) {
		gone := a.appID()
		a.removed = append(a.removed, gone)
		a.apps = slices.DeleteFunc(a.apps, func(id objects.AppID) bool { return id == gone })
		a.recentAsks = slices.DeleteFunc(a.recentAsks, func(x *objects.Ask) bool { return x.App == gone })
		return scheduler.RemoveApplication{App: gone}
	}
	return a.addApplication()
}

func (a *Generator) addApplication() scheduler.AddApplication {
	c := scheduler.AddApplication{User: Pick(a, users...), Queue: a.queuePath()}
	switch {
	case len(a.removed) > 0 && a.OneIn(3):
		c.App = Pick(a, a.removed...)
		a.apps = append(a.apps, c.App)
	case len(a.apps) > 0 && a.OneIn(6):
		c.App = a.appID() // it may have completed, or still have asks
	default:
		a.appCount++
		c.App = objects.AppID(fmt.Sprintf("a%d", a.appCount))
		a.apps = append(a.apps, c.App)
	}
	c.Tags = map[string]string{}
	if a.OneIn(15) {
		c.Tags["application.create.force"] = "true"
	}
	if a.OneIn(3) {
		a.quotaTags(c.Tags)
	}
	if a.contended && a.OneIn(3) {
		c.Tags[objects.TagGroupPriority] = Pick(a, "0", "2", "5", "-1", "2147483647", "high")
	}
	if a.OneIn(40) {
		c.Refused = "nobody knows the user"
	}
	return c
}

func (a *Generator) appID() objects.AppID {
	switch {
	case len(a.apps) == 0 || a.OneIn(30):
		return "nobody"
	case !a.OneIn(3): // the others may have completed
		return Pick(a, a.apps[max(0, len(a.apps)-4):]...)
	}
	return Pick(a, a.apps...)
}

// queuePath returns mostly a leaf, sometimes a parent or an unknown queue.
func (a *Generator) queuePath() string {
	path, q := "root", &a.Conf.Root
	for len(q.Children) > 0 && !a.OneIn(50) {
		q = &q.Children[a.IntN(len(q.Children))]
		path += "." + q.Name
	}
	switch a.IntN(60) {
	case 0, 1, 2, 3, 4:
		return path + Pick(a, ".d", ".d.e", ".d.e", ".c")
	case 5:
		return strings.ToUpper(path)
	case 6:
		return Pick(a, "", "a", "B", "root", "x.y", "root.d.e", "root.u", placement.RecoveryQueue,
			placement.RecoveryQueue+".d")
	}
	return path
}
