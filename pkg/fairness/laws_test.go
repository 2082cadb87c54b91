package fairness_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// cluster is a cluster of cores that is always full: each side that has work has it waiting.
type cluster struct {
	t     *testing.T
	core  *scheduler.Core
	now   time.Time
	sides []*side
	ends  map[objects.AllocationKey]time.Time
	keys  int
	of    map[objects.AllocationKey]*side
}

// side is an application in a queue.
type side struct {
	app     objects.AppID
	works   bool
	lasts   func() time.Duration // of a task
	cores   resources.Quantity   // of a task
	waiting int
	used    time.Duration // core-seconds
	served  time.Time     // when a task was placed the last time
	longest time.Duration // without a placement, while it has work
}

const cores = 40

func newCluster(t *testing.T, config string, sides ...*side) *cluster {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Assert(t, conf != nil, "%v", problems)
	c := &cluster{t: t, core: scheduler.New(conf.Partitions[0], nil), now: time.Unix(1_700_000_000, 0), sides: sides,
		ends: map[objects.AllocationKey]time.Time{}, of: map[objects.AllocationKey]*side{}}
	c.core.Step(c.now, scheduler.AddNode{Node: "n", Total: vcores(cores), Schedulable: true})
	return c
}

// add adds the application of a side to a queue, or of a user to a leaf.
func (c *cluster) add(s *side, queue, user string) {
	s.served = c.now
	c.core.Step(c.now, scheduler.AddApplication{App: s.app, Queue: queue, User: security.User{Name: user}})
}

func vcores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

// run lets time pass, in steps of a second. Each side has as many tasks waiting as fit the cluster.
func (c *cluster) run(d time.Duration) {
	c.t.Helper()
	for end := c.now.Add(d); c.now.Before(end); c.now = c.now.Add(time.Second) {
		for key, at := range c.ends {
			if !at.After(c.now) {
				delete(c.ends, key)
				c.core.Step(c.now, scheduler.Release{App: c.of[key].app, Key: key})
			}
		}
		for _, s := range c.sides {
			for s.works && s.waiting < cores {
				c.keys++
				key := objects.AllocationKey(fmt.Sprintf("k%d", c.keys))
				c.of[key] = s
				s.waiting++
				c.core.Step(c.now, scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: s.app, Amounts: vcores(s.cores)}})
			}
		}
		effects, _ := c.core.Schedule(c.now, 1<<20)
		for _, e := range effects {
			if a, placed := e.(scheduler.Allocated); placed {
				s := c.of[a.Ask.Key]
				lasts := s.lasts()
				s.waiting--
				s.used += lasts * time.Duration(s.cores)
				s.served = c.now
				c.ends[a.Ask.Key] = c.now.Add(lasts)
			}
		}
		for _, s := range c.sides {
			if s.works {
				s.longest = max(s.longest, c.now.Sub(s.served))
			}
		}
	}
	assert.NilError(c.t, c.core.Check())
}

func lasting(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

const twoQueues = `
partitions:
  - name: default
    reservation: {enabled: false}
    queues:
      - name: root
        submitacl: '*'
        properties: {fairness.halflife: 1h}
        queues: [{name: a}, {name: b%s}]
`

func newSide(app objects.AppID, lasts func() time.Duration) *side {
	return &side{app: app, works: true, cores: 1, lasts: lasts}
}

// Two queues with equal histories and weights that always have work, in tasks of at most a 20th of the half-life, get
// amounts within 5 % of each other, plus a task, over three half-lives (FAI-4). So do queues with weights, by these.
func TestLaw_EqualSidesGetEqualAmounts(t *testing.T) {
	for name, c := range map[string]struct {
		weight string
		ratio  float64
	}{
		"equal weights": {"", 1}, "three times the weight": {", properties: {fairness.weight: 3}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := rand.New(rand.NewPCG(1, 2))
			between := func(least, most int) func() time.Duration {
				return func() time.Duration { return time.Duration(least+g.IntN(most-least+1)) * time.Second }
			}
			short, long := newSide("short", between(5, 30)), newSide("long", between(60, 180))
			k := newCluster(t, fmt.Sprintf(twoQueues, c.weight), short, long)
			k.add(short, "root.a", "u")
			k.add(long, "root.b", "u")
			k.run(3 * time.Hour)
			ratio := long.used.Seconds() / short.used.Seconds() / c.ratio
			assert.Assert(t, math.Abs(ratio-1) < 0.05+180/short.used.Seconds(), "%v and %v", short.used, long.used)
		})
	}
}

// After a burst of one side the other is served first, and none is shut out for longer than H x log2(1 + W / w), with
// the weight w of its own and W of all others, plus the longest task and a tick (FAI-4).
func TestLaw_NobodyIsShutOutForLong(t *testing.T) {
	for name, c := range map[string]struct {
		weight string
		others float64
	}{
		"equal weights": {"", 1}, "three times the weight": {", properties: {fairness.weight: 3}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			burst, late := newSide("burst", lasting(time.Minute)), newSide("late", lasting(time.Minute))
			late.works = false
			k := newCluster(t, fmt.Sprintf(twoQueues, c.weight), burst, late)
			k.add(burst, "root.a", "u")
			k.add(late, "root.b", "u")
			k.run(12 * time.Hour)
			late.works, burst.longest = true, 0
			late.served = k.now
			k.run(6 * time.Hour)
			bound := time.Duration(math.Log2(1+c.others)*float64(time.Hour)) + time.Minute + 15*time.Second
			assert.Assert(t, burst.longest <= bound, "%v, and the bound is %v", burst.longest, bound)
			assert.Assert(t, burst.longest >= bound/2, "%v: it was not shut out at all", burst.longest)
			assert.Assert(t, late.longest <= time.Minute+time.Second, "the other was served after %v", late.longest)
		})
	}
}

// A stream of new applications shuts no older one out: a new one begins behind those that wait (FAI-6).
func TestLaw_NewApplicationsBeginBehind(t *testing.T) {
	old := newSide("old", lasting(time.Minute))
	k := newCluster(t, `
partitions:
  - name: default
    reservation: {enabled: false}
    queues: [{name: root, submitacl: '*', queues: [{name: a, properties: {fairness.halflife: 1h}}]}]
`, old)
	k.add(old, "root.a", "u")
	k.run(2 * time.Hour)
	before := old.used
	for i := range 240 { // each has work for as long as it takes until the next one comes
		s := newSide(objects.AppID(fmt.Sprintf("new-%03d", i)), lasting(time.Minute))
		s.cores, s.waiting = 4, cores-5
		k.sides = append(k.sides, s)
		k.add(s, "root.a", "u")
		k.run(time.Second)
		s.works = false
		k.run(29 * time.Second)
	}
	share := (old.used - before).Seconds() / (240 * 30 * cores)
	assert.Assert(t, share > 0.05, "it got %.3f of the cluster", share)
	assert.Assert(t, old.longest < 10*time.Minute, "it was shut out for %v", old.longest)
}

// Users of a leaf are equals, however many applications each has.
func TestLaw_UsersAreEquals(t *testing.T) {
	var ann []*side
	for i := range 9 {
		ann = append(ann, newSide(objects.AppID(fmt.Sprint("ann-", i)), lasting(time.Minute)))
	}
	bob := newSide("bob", lasting(time.Minute))
	k := newCluster(t, `
partitions:
  - name: default
    reservation: {enabled: false}
    queues:
      - name: root
        submitacl: '*'
        queues: [{name: a, properties: {fairness.halflife: 1h, fairness.by: user}}]
`, append(ann, bob)...)
	for _, s := range ann {
		k.add(s, "root.a", "ann")
	}
	k.add(bob, "root.a", "bob")
	usedByAnn := func() (used float64) {
		for _, s := range ann {
			used += s.used.Seconds()
		}
		return used
	}
	k.run(time.Second) // what is free at one moment
	assert.Equal(t, usedByAnn(), bob.used.Seconds())
	k.run(time.Hour)
	used := usedByAnn()
	assert.Assert(t, math.Abs(bob.used.Seconds()/used-1) < 0.05, "ann got %v, bob %v", used, bob.used.Seconds())
}

// What was used before a restart counts after it, to the last bit.
func TestRestore_IsWhatWasKept(t *testing.T) {
	burst, late := newSide("burst", lasting(time.Minute)), newSide("late", lasting(time.Minute))
	late.works = false
	k := newCluster(t, fmt.Sprintf(twoQueues, ""), burst, late)
	k.add(burst, "root.a", "u")
	k.run(time.Hour)
	kept := k.core.UsageOverTime(k.now)
	assert.Equal(t, len(kept), 1)
	assert.Equal(t, kept[0].Name, "a")
	again := newCluster(t, fmt.Sprintf(twoQueues, ""))
	again.now = k.now
	again.core.Step(k.now, scheduler.RestoreUsage{Usage: kept})
	assert.DeepEqual(t, again.core.UsageOverTime(k.now), kept)
	again.core.Step(k.now.Add(time.Minute), scheduler.ResetPartition{}) // the RM registers
	assert.DeepEqual(t, again.core.UsageOverTime(k.now.Add(time.Hour)), kept)
	assert.NilError(t, again.core.Check())

	// and by another half-life it is as much
	other, _ := queuesyaml.Load([]byte(fmt.Sprintf(twoQueues, "")))
	other.Partitions[0].Root.Fairness.HalfLife = 24 * time.Hour
	share := func(c *scheduler.Core, at time.Time) float64 {
		return c.FullSnapshot(at).Root.Children.At(0).UsageOverTime.Share(at)
	}
	at := k.now.Add(time.Hour)
	again.core.Schedule(at, 1)
	before := share(again.core, at)
	again.core.Step(at, scheduler.UseConfig{Partition: other.Partitions[0]})
	after := share(again.core, at) * 24 // an average over 24 times as long
	assert.Assert(t, math.Abs(after/before-1) < 0.01, "%v, and %v before", after, before)
}
