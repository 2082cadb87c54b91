package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// orderRequirement is a row of testdata/scenarios/REQUIREMENTS.md about the scheduling order.
type orderRequirement struct {
	name            string // requirement numbers, and the requirement in short
	queues          string // below root, one for each line; empty: a and b
	running         string // allocations, in the form of asks
	asks            string // oldest first: "queue application key priority vcore; ..."
	order           string // in which the asks are placed; others stay pending
	queuePriorities string // before the first placement; none: nothing is pending
}

func TestRequirements_SchedulingOrder(t *testing.T) {
	for _, r := range []orderRequirement{
		{name: "S0-1 S2-1 S3-22 S4-6 S4-8 S4-9 the larger number is placed first, whatever its sign",
			asks:  "a x low -2147483648; a x zero 0; a x highest 2147483647; a x minus -1; a x one 1; a x user 1000000000",
			order: "highest user one zero minus low"},
		{name: "S2-32 system classes before user classes, and node-critical before cluster-critical",
			asks:  "a x user 1000000000; a y cluster 2000000000; b z node 2000001000",
			order: "node cluster user"},
		{name: "S0-5 S3-23 an infeasible ask blocks no ask of its application, its leaf or other leaves",
			asks:  "a x huge 99 1000; a x small 1; a y other 0; b z sibling -1",
			order: "small other sibling"},
		{name: "S4-19 S4-20 S4-23 executors with different priorities of one application",
			asks:  "a spark extra 0; a spark core1 10; b other web 5; a spark core2 10",
			order: "core1 core2 web extra"},
		{name: "S4-49 ties are ordered by name",
			queues: "name: b\nname: a, properties: {application.sort.policy: fair}",
			asks:   "b z b2 1 2; a y y1 1; a x x1 1",
			order:  "x1 b2 y1"},
		{name: "S4-8 the lowest priority is above no pending ask",
			queues: "name: a\nname: b\nname: f, properties: {priority.policy: fence, priority.offset: '-3'}\n" +
				"name: g, properties: {priority.offset: '-7'}",
			asks:            "a x k -2147483648; f y l -2147483648; g z m -2147483647",
			queuePriorities: "root.a=-2147483648 root.b=none root.f=-3 root.g=-2147483648 root=-3",
			order:           "l k m"},
		{name: "S4-25 a fence hides the priorities of a leaf",
			queues: "name: a, properties: {priority.policy: fence}\nname: b",
			asks:   "a x fenced 900; b y plain 1", order: "plain fenced", queuePriorities: "root.a=0 root.b=1"},
		{name: "S4-25 S4-26 a fence hides the priorities of a parent, and they count inside of it",
			queues: "name: p, properties: {priority.policy: fence}, queues: [{name: a}, {name: b}]\nname: q",
			asks:   "p.a x p1 1; p.b y p900 900; q z q1 1",
			order:  "q1 p900 p1", queuePriorities: "root.p.b=900 root.p=0 root=1"},
		{name: "S4-27 to S4-31 a fence in a fence, and a queue without a fence above both",
			queues: "name: t, properties: {priority.policy: fence}, queues: [{name: a, properties: {priority.policy: fence}}, " +
				"{name: b}, {name: c}]\n" +
				"name: s",
			asks:  "t.a x a900 900; t.b y b300 300; t.c y2 c400 400; s z sys 1",
			order: "sys c400 b300 a900", queuePriorities: "root.t.a=0 root.t.b=300 root.t=0 root.s=1"},
		{name: "S4-31 an offset puts a system queue above all tenants",
			queues: "name: s, properties: {priority.offset: '1000'}\nname: t",
			asks:   "t x top 900; s y sys -50", order: "sys top"},
		{name: "S4-33 a negative offset puts a queue below a sibling with equal priorities",
			queues: "name: a, properties: {priority.offset: '-1'}\nname: b",
			asks:   "a x a5 5; b y b5 5", order: "b5 a5"},
		{name: "S4-34 S4-35 S4-36 S4-81 offsets add up along the path",
			queues: "name: p, properties: {priority.offset: '7'}, queues: [{name: a, properties: {priority.offset: " +
				"'2'}}]\nname: b",
			asks: "p.a x k 10; b y b18 18", queuePriorities: "root.p.a=12 root.p=19 root=19", order: "k b18"},
		{name: "S4-38 the offset of each child is added before the maximum of the children",
			queues: "name: p, queues: [{name: a, properties: {priority.offset: '10'}}, {name: b, properties: " +
				"{priority.offset: '1'}}]",
			asks: "p.a x a5 5; p.b y b8 8", queuePriorities: "root.p.a=15 root.p.b=9 root.p=15", order: "a5 b8"},
		{name: "S4-37 S4-39 S4-41 an offset is any 32-bit number, and sums saturate at 32 bits",
			queues: "name: a, properties: {priority.offset: '2147483647'}\nname: b, properties: {priority.offset: " +
				"'-2147483648'}\n" +
				"name: c, properties: {priority.offset: '1500000000'}",
			asks: "a x a1 1; b y b1 -1; c z c1 1", order: "a1 c1 b1",
			queuePriorities: "root.a=2147483647 root.b=-2147483648 root.c=1500000001"},
		{name: "S4-42 an offset is added to a negative priority",
			queues: "name: a, properties: {priority.offset: '200'}", asks: "a x k -50", queuePriorities: "root.a=150",
			order: "k"},
		{name: "S4-43 S4-44 a fence has its offset, or 0, as priority while something is pending",
			queues: "name: a, properties: {priority.policy: fence, priority.offset: '5'}\n" +
				"name: b, properties: {priority.policy: fence}\n" +
				"name: c, properties: {priority.policy: fence, priority.offset: '9'}",
			asks: "a x a900 900; b y b-9 -9", queuePriorities: "root.a=5 root.b=0 root.c=none", order: "a900 b-9"},
		{name: "S4-50 S4-62 S4-63 application.sort.priority disabled orders applications by submission",
			queues: "name: a, properties: {application.sort.priority: DisAbled}",
			asks:   "a first a0 0; a second b900 900", order: "a0 b900"},
		{name: "S4-54 S4-57 S4-61 application.sort.priority is inherited, and a child may override it",
			queues: "name: p, properties: {application.sort.priority: disabled}, queues: [{name: a, resources: {guaranteed: " +
				"{vcore: 10m}}}, " +
				"{name: b, resources: {guaranteed: {vcore: 10m}}, properties: {application.sort.priority: enabled}}]",
			running: "p.a ra busy 0 5",
			asks:    "p.a x a1 1; p.a y a900 900; p.b z b1 1; p.b w b9 9",
			order:   "b9 b1 a1 a900"},
		{name: "S4-51 the lowest share of the guarantee first",
			queues:  "name: a, resources: {guaranteed: {vcore: 4m}}\nname: b, resources: {guaranteed: {vcore: 10m}}",
			running: "a r ra 0 2; b s rb 0 3", asks: "a x a1 5; b y b1 5", order: "b1 a1"},
		{name: "S4-52 with equal shares, the larger pending first",
			queues: "name: a, resources: {guaranteed: {vcore: 10m}}\nname: b, resources: {guaranteed: {vcore: 10m}}",
			asks:   "a x a5 5 5; b y b9 5 9", order: "b9 a5"},
		{name: "S4-53 S4-60 S4-64 priority before fair share",
			queues:  "name: a, resources: {guaranteed: {vcore: 10m}}\nname: b, resources: {guaranteed: {vcore: 10m}}",
			running: "a r ra 0 9", asks: "b y b1 1 9; a x a2 2", order: "a2 b1"},
		{name: "S4-58 a dynamic queue has the settings of the child template",
			queues: "name: p, parent: true, childtemplate: {properties: {priority.offset: '5', priority.policy: fence}}\n" +
				"name: b",
			asks: "b y b4 4; p.new x k 900", queuePriorities: "root.p.new=5 root.b=4", order: "k b4"},
		{name: "S4-45 applications and queues without pending asks are skipped",
			running: "a idle1 r1 900; a idle2 r2 900", asks: "a x k 0", queuePriorities: "root.a=0 root.b=none", order: "k"},
	} {
		t.Run(r.name, func(t *testing.T) { r.run(t) })
	}
}

func (r orderRequirement) run(t *testing.T) {
	if r.queues == "" {
		r.queues = "name: a\nname: b"
	}
	lifecycle := newLifecycleCore(t, r.queues)
	lifecycle.core.Step(epoch, scheduler.AddNode{Node: "m", Total: vcores(20), Schedulable: true})
	apply := func(list string, command func(*objects.Ask) scheduler.Command) {
		for _, one := range strings.Split(list, "; ") {
			if f := strings.Fields(one); len(f) > 0 {
				lifecycle.now = lifecycle.now.Add(time.Second)
				lifecycle.mustApply(scheduler.AddApplication{App: objects.AppID(f[1]), Queue: "root." + f[0],
					User: security.User{Name: "ann"}})
				lifecycle.mustApply(command(askOf(t, f, lifecycle.now)))
			}
		}
	}
	apply(r.running, func(x *objects.Ask) scheduler.Command { return scheduler.ReportAllocation{Ask: x, Node: "m"} })
	apply(r.asks, func(x *objects.Ask) scheduler.Command { return scheduler.SubmitAsk{Ask: x} })
	assert.NilError(t, lifecycle.core.Check())
	for _, shows := range strings.Fields(r.queuePriorities) {
		path, want, _ := strings.Cut(shows, "=")
		assert.Equal(t, lifecycle.queue(objects.QueuePath(path)).CurrentPriority().String(), want, path)
	}

	var order []string
	effects, _ := lifecycle.core.Schedule(lifecycle.now, 100)
	for _, e := range effects {
		if x, ok := e.(scheduler.Allocated); ok {
			order = append(order, string(x.Ask.Key))
			got, _ := lifecycle.core.Partition().Allocation(x.Ask.Key)
			assert.Equal(t, got.Ask().Priority, x.Ask.Priority, "S4-22: an allocation has the priority of its ask")
		}
	}
	assert.Equal(t, strings.Join(order, " "), r.order)
	assert.NilError(t, lifecycle.core.Check())
}

// askOf reads "queue application key priority vcore" in thousandths; without vcore it is 1.
func askOf(t *testing.T, f []string, created time.Time) *objects.Ask {
	t.Helper()
	priority, err := strconv.ParseInt(f[3], 10, 32)
	assert.NilError(t, err)
	n := 1
	if len(f) > 4 {
		n, err = strconv.Atoi(f[4])
		assert.NilError(t, err)
	}
	return &objects.Ask{
		Key: objects.AllocationKey(f[2]), App: objects.AppID(f[1]), Priority: int32(priority),
		Amounts: amountsFromMap(map[string]int64{"vcore": int64(n)}), Created: objects.TimestampOf(created),
	}
}

// mustApply applies a command that must not be refused. An application may exist already.
func (r *lifecycleCore) mustApply(cmd scheduler.Command) {
	if a, ok := cmd.(scheduler.AddApplication); ok {
		if _, there := r.core.Partition().Application(a.App); there {
			return
		}
	}
	for _, e := range r.core.Step(r.now, cmd) {
		switch e.(type) {
		case scheduler.AskRejected, scheduler.ApplicationRejected, scheduler.Refused:
			r.t.Fatal(e)
		}
	}
}

// The application of old is the oldest, that of urgent uses the most, that of new is the youngest and uses
// nothing. Fences at the leaf or above it change nothing inside.
func TestPriority_S4_5IsIndependentOfTheSortPolicy(t *testing.T) {
	for _, fence := range []string{"default", "fence"} {
		for _, sort := range []string{"fifo", "fair"} {
			for priority, order := range map[string]map[string]string{
				"enabled":  {"fifo": "urgent old new", "fair": "urgent new old"},
				"disabled": {"fifo": "old urgent new", "fair": "new old urgent"},
			} {
				t.Run(fmt.Sprintf("S4-46 S4-48 %s, priority %s, %s", sort, priority, fence), func(t *testing.T) {
					orderRequirement{
						queues: fmt.Sprintf("name: p, properties: {priority.policy: %s}, queues: [{name: a, resources: {guaranteed: "+
							"{vcore: 10m}}, "+
							"properties: {priority.policy: %s, application.sort.policy: %s, application.sort.priority: %s}}]", fence, fence,
							sort, priority),
						running: "p.a holds2 r2 0 2; p.a holds5 r5 0 5",
						asks:    "p.a holds2 old 1; p.a holds5 urgent 9; p.a holds0 new 1",
						order:   order[sort],
					}.run(t)
				})
			}
		}
	}
}
