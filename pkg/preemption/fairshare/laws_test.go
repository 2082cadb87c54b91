package fairshare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// closedWorld is a cluster in which every victim asks again for the same, and nothing else comes or ends.
type closedWorld struct {
	t         *testing.T
	core      *scheduler.Core
	gen       *rand.Rand
	now       time.Time
	keys      int
	asks      map[objects.AllocationKey]*objects.Ask
	preempted map[string]int // by reason
}

func newWorld(t *testing.T, seed uint64, root configs.Queue) *closedWorld {
	root.SubmitACL = security.Everyone()
	conf := configs.Partition{Name: "default", Root: root, PreemptionEnabled: true}
	return &closedWorld{t: t, core: scheduler.New(conf, nil), gen: rand.New(rand.NewPCG(seed, 46)),
		now: time.Unix(1_000_000_000, 0), asks: map[objects.AllocationKey]*objects.Ask{}, preempted: map[string]int{}}
}

// step executes a command, or decides if there is none, and has what was preempted end and ask again.
func (w *closedWorld) step(c scheduler.Command) (preemptions int) {
	var effects []scheduler.Effect
	if c != nil {
		effects = w.core.Step(w.now, c)
	} else {
		effects, _ = w.core.Schedule(w.now, 1<<20)
	}
	for _, e := range slices.Clone(effects) { // the next step reuses them
		if e, ok := e.(scheduler.Event); ok && e.Kind == scheduler.EventPreempted {
			w.preempted[e.Reason.String()]++
			preemptions++
		}
		if e, ok := e.(scheduler.Released); ok {
			ask := *w.asks[e.Key]
			w.core.Step(w.now, scheduler.Release{App: e.App, Key: e.Key, Type: scheduler.PreemptedByScheduler})
			w.submit(&ask)
		}
	}
	return preemptions
}

func (w *closedWorld) submit(ask *objects.Ask) {
	w.keys++
	ask.Key = objects.AllocationKey(fmt.Sprintf("k%04d", w.keys))
	w.asks[ask.Key] = ask
	w.step(scheduler.SubmitAsk{Ask: ask})
}

// settle decides, until nothing has changed for longer than the back-off and the delay, and returns how many
// preemptions it took.
func (w *closedWorld) settle(most int) (preemptions int) {
	for quiet := 0; quiet < 8; quiet++ {
		w.now = w.now.Add(6 * time.Second)
		if n := w.step(nil); n > 0 {
			preemptions += n
			quiet = 0
		}
		if preemptions > most {
			return preemptions
		}
	}
	return preemptions
}

func amounts(vcore, gpu int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
		"gpu": resources.Quantity(gpu)})
}

// randomTree returns a tree whose queues share fairly or not, with weights, guarantees, maxima and fences.
func (w *closedWorld) randomTree(name string, depth int) configs.Queue {
	q := configs.Queue{Name: name, Parent: depth > 0}
	q.PreemptionDelay = time.Second
	q.FairShare = w.gen.IntN(4) > 0
	if name != "root" {
		q.Fairness.Weight = []policies.FairnessWeight{0, 0, 500, 2000, 3000}[w.gen.IntN(5)]
		if w.gen.IntN(4) == 0 {
			q.Guaranteed = resources.GuaranteeFromMap(amounts(w.gen.IntN(8), w.gen.IntN(4)).Map())
		}
		if w.gen.IntN(6) == 0 {
			q.Max = resources.LimitFromMap(amounts(8+w.gen.IntN(12), 4+w.gen.IntN(6)).Map())
		}
		if w.gen.IntN(12) == 0 {
			q.PreemptionPolicy = policies.PreemptFence
		}
	}
	if w.gen.IntN(2) == 0 {
		q.Fairness.By = policies.FairByUser
	}
	for i := range depth * (2 + w.gen.IntN(2)) {
		if depth > 0 {
			q.Children = append(q.Children, w.randomTree(fmt.Sprintf("%c%d", 'a'+i, depth), depth-1-w.gen.IntN(depth)))
		}
	}
	return q
}

// Nobody preempts each other in turn, whatever the sizes of tasks, the tree, the resources, and who gets what a
// preemption leaves: when every victim asks again and nothing else happens, preemption ends (PRE-130).
func TestFairShare_NobodyPreemptsInTurn(t *testing.T) {
	runs, most, total := testscale.Runs(300), 0, 0
	// The first two do not end without PRE-131, by guarantees and by shares; the third does not if the total of a queue
	// below root is what it holds.
	seeds := []uint64{23247, 36203, 15869}
	for seed := range uint64(runs) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		w := newWorld(t, seed, configs.Queue{Name: "root", Parent: true})
		root := w.randomTree("root", 1+w.gen.IntN(3))
		w = newWorld(t, seed, root)
		total += w.run(seed, &most)
	}
	t.Logf("%d preemptions in %d runs, at most %d in one", total, runs, most)
	assert.Assert(t, total > 2*runs)
}

func (w *closedWorld) run(seed uint64, most *int) int {
	for i := range 1 + w.gen.IntN(4) {
		w.step(scheduler.AddNode{Node: objects.NodeID(fmt.Sprintf("n%d", i)), Schedulable: true,
			Total: amounts(6+w.gen.IntN(8), 2+w.gen.IntN(5))})
	}
	var leaves []*objects.Queue
	for q := range objects.EachQueue(w.core.Partition()) {
		if q.Leaf() {
			leaves = append(leaves, q)
		}
	}
	slices.SortFunc(leaves, func(a, b *objects.Queue) int { return slices.Compare([]byte(a.Path()), []byte(b.Path())) })
	var apps []objects.AppID
	for i, q := range leaves {
		for j := range 1 + w.gen.IntN(3) {
			apps = append(apps, objects.AppID(fmt.Sprintf("app%d-%d", i, j)))
			w.step(scheduler.AddApplication{App: apps[len(apps)-1], Queue: string(q.Path()),
				User: security.User{Name: fmt.Sprintf("user%d", w.gen.IntN(3))}})
		}
	}
	w.gen.Shuffle(len(apps), func(i, j int) { apps[i], apps[j] = apps[j], apps[i] })
	sizes := []resources.Amounts{amounts(1, 0), amounts(2, 1), amounts(1+w.gen.IntN(6), 0), amounts(1, 1+w.gen.IntN(3)),
		amounts(4+w.gen.IntN(8), w.gen.IntN(2))}
	for _, app := range apps { // one after the other fills what is left
		for range w.gen.IntN(10) {
			w.submit(&objects.Ask{App: app, Amounts: sizes[w.gen.IntN(len(sizes))], Created: objects.TimestampOf(w.now),
				Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther})
		}
		if w.gen.IntN(3) > 0 {
			w.now = w.now.Add(time.Second)
			w.step(nil)
		}
	}
	const bound = 2000
	w.settle(bound)
	n := 0
	for _, times := range w.preempted {
		n += times
	}
	assert.Assert(w.t, n < bound, "seed %d: %d preemptions, %v", seed, n, w.preempted)
	assert.NilError(w.t, w.core.Check())
	*most = max(*most, n)
	return w.preempted["fair share"]
}

// Queues with tasks of one core on one node end with their fair shares, whoever was first, however weights, guarantees
// and what they want differ (PRE-126, PRE-127). A side that lacks less than a task of its share takes none, if that
// would put it further above than the side of the victim would be: so that one keeps up to 1 task + 1 x the ratio of
// the weights.
func TestFairShare_IsReached(t *testing.T) {
	for seed := range uint64(testscale.Runs(100)) {
		w := newWorld(t, seed, configs.Queue{Name: "root", Parent: true})
		root := configs.Queue{Name: "root", Parent: true}
		root.FairShare = true
		names := []string{"a", "b", "c", "d"}[:2+w.gen.IntN(3)]
		for _, name := range names {
			q := configs.Queue{Name: name}
			q.PreemptionDelay = time.Second
			q.Fairness.Weight = []policies.FairnessWeight{0, 0, 500, 2000, 3000}[w.gen.IntN(5)]
			if w.gen.IntN(3) == 0 {
				q.Guaranteed = resources.GuaranteeFromMap(amounts(w.gen.IntN(90), 0).Map())
			}
			root.Children = append(root.Children, q)
		}
		w = newWorld(t, seed, root)
		w.step(scheduler.AddNode{Node: "n", Total: amounts(300, 0), Schedulable: true})
		for _, name := range names {
			w.step(scheduler.AddApplication{App: objects.AppID(name), Queue: "root." + name, User: security.User{Name: "u"}})
			for range 5 + w.gen.IntN(400) {
				w.submit(&objects.Ask{App: objects.AppID(name), Amounts: amounts(1, 0), Created: objects.TimestampOf(w.now),
					Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther})
			}
			w.now = w.now.Add(time.Minute)
			w.step(nil) // each takes all that is free before the next one comes
		}
		w.settle(10_000)
		part := w.core.Partition()
		level := fairshare.Of(part).Level(part.Root())
		for _, name := range names {
			a, _ := part.Application(objects.AppID(name))
			k, _ := objects.ResourceIndex(part, "vcore")
			share, _ := level.SideOf(a).Share(k)
			held := float64(a.Allocated().At(k))
			assert.Assert(t, math.Abs(held-share) <= 1+6, "seed %d: %s holds %v of its share of %v: %v", seed, name, held, share,
				root)
		}
	}
}
