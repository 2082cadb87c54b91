package twin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// When the RM has removed all applications, the partition must equal a new partition with the same
// nodes, foreign allocations and configuration, byte by byte (APP-36).
func TestPartition_RemovedApplicationsLeaveNoState(t *testing.T) {
	runs := uint64(testscale.Runs(80))
	removed := 0
	for seed := uint64(1); seed <= runs; seed++ {
		s := randomrun.RandomRun(seed, stepsPerRun).WithoutFairness()
		opt := objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes}
		used := scheduler.NewWith(s.Partition, s.Oracle.Oracle(), opt)
		now := randomrun.StartTime()
		for _, b := range s.Steps {
			now = now.Add(b.After)
			applyStep(b, used, now)
		}
		before := used.Snapshot(now)
		removeApplications(used, before.Root, now)
		removed += before.Applications
		endOperations(used, now)
		after := used.Snapshot(now)
		assert.Equal(t, after.Applications+after.Asks+after.Allocations, 0)
		assert.NilError(t, used.Check())

		fresh := scheduler.NewWith(used.Partition().Config(), nil, opt)
		copyNodes(fresh, after, now)
		for _, c := range []*scheduler.Core{used, fresh} {
			c.ForgetSnapshots()
			followNodes(c, now)
			c.Refresh()
			c.Schedule(now, 1) // prices of usage over time are those of the last decision
		}
		got, want := partitionText(used.Partition()), partitionText(fresh.Partition())
		if got != want {
			t.Fatalf("seed %d: something is left behind:\n%s", seed, firstDifference(want, got))
		}
	}
	assert.Assert(t, removed > int(runs), "there was nothing to remove")
}

func removeApplications(c *scheduler.Core, q *scheduler.QueueView, now time.Time) {
	for child := range q.Children.All() {
		removeApplications(c, child, now)
	}
	for a := range q.Applications.All() {
		c.Step(now, scheduler.RemoveApplication{App: a.ID})
	}
}

// endOperations ends what operators have switched.
func endOperations(c *scheduler.Core, now time.Time) {
	s := c.OperatorState()
	for _, path := range s.Stopped {
		c.Step(now, scheduler.Operate{Action: scheduler.StartQueue, Queue: path})
	}
	for _, path := range s.Drained {
		c.Step(now, scheduler.Operate{Action: scheduler.StartQueue, Queue: path})
	}
	for _, id := range s.Cordoned {
		c.Step(now, scheduler.Operate{Action: scheduler.UncordonNode, Node: id})
	}
}

func copyNodes(c *scheduler.Core, s *scheduler.Snapshot, now time.Time) {
	for n := range s.Nodes.All() {
		c.Step(now, scheduler.AddNode{Node: n.ID, Total: n.Total, Attributes: n.Attributes, Schedulable: n.Schedulable})
		for _, f := range n.Foreign {
			c.Step(now, scheduler.ReportForeign{Foreign: *f})
		}
	}
}

// ignoredFields are fields of a partition that are not part of its state: history, counters, spare
// capacity, known names, shapes and bounds (unschedulable nodes are in an index by the shapes that
// require them), and lists that may have removed members.
var ignoredFields = map[string]bool{
	// Check counts these anew
	"topologyChanges.nodes": true, "Nodes.grouped": true, "Nodes.bySlot": true, "Nodes.opened": true,
	"Nodes.tracker": true, "Nodes.tracking": true, "Node.AffinityNode": true,
	"deadlines.completed": true, "deadlines.rejected": true, "stateEvents.applications": true, "Partition.arrivals": true,
	"Partition.names": true, "ordering.names": true, "ordering.shapes": true, "Partition.placedResources": true,
	"ordering.namesGivenAtRefresh": true, "ordering.shapesAdded": true, "Queue.extraResources": true,
	"Quotas.unsettle": true, "Effective.SettledFrom": true, "Queue.settledFrom": true,
	"changes.generation":    true,
	"changes.newPreemptors": true, "changes.configChanged": true, "changes.part": true, "Gangs.part": true,
	"topologyTrees.part": true, "Gangs.replacedBy": true,
	"Engine.now": true, "Engine.stored": true, "Engine.reported": true, "Engine.overruns": true, // of run times
	"Table.shapes": true, "Table.free": true, "Table.buckets": true,
	"Table.catchAll": true, "Table.exactCount": true, "Table.tableFull": true, "Table.variantSlots": true,
	"Table.requiredNodeSlots": true, "Table.pinnedSlots": true, "Table.byRequiredNode": true, "Table.requests": true,
	"Table.removedShapes": true, "Table.requiredInCatchAll": true, "ordering.scorer": true, "retries.nodes": true,
	"ordering.joining": true, "ordering.unschedulable": true, "Node.entry": true,
	"changes.endedNominations": true, "retries.requeueRequested": true,
	"Tree.hasMaxApplications": true, "Tree.hasClassQuotas": true,
	"objectLists.apps": true, "objectLists.nodes": true, "objectLists.queues": true, "snapshotChanges.watch": true,
	"changes.ended": true, "changes.mayPlace": true, "changes.mayChange": true,
	"routineChanges.other": true, "waitingChanges.quotasSettled": true, "journal.posted": true,
	"Queue.listIndex": true, "Node.listIndex": true, "Application.listIndex": true, "Queue.changeRecorded": true,
	"Node.changeRecorded": true, "Application.changeRecorded": true, "Account.Recorded": true,
	"Shares.levels": true, "Shares.demands": true, "Shares.largest": true, "Shares.largestKnown": true,
	"Shares.priced": true, "Shares.enabled": true, "Shares.enabledKnown": true,
	"Queue.buffers": true, "Queue.fitBuffer": true, "Queue.maskBuffer": true, "Queue.denominatorBuffer": true,
	"Node.buffers": true, "Queue.dynamic": true, "Queue.visitedAt": true, "List.root": true,
}

// rareFields are what is behind a pointer since few objects have it. One that had it once may keep it empty, and those
// that never had it share it or have none.
var rareFields = map[string]bool{"Node.extra": true, "Application.extra": true, "Queue.releases": true}

// immutableTypes are those of values of which it says nothing who shares them: they are compared wherever they are.
var immutableTypes = map[string]bool{"percents": true, "ChildTemplate": true}

// partitionText is everything in a partition, as text. Vectors have the names of resources, and indexes
// only their members: the division into blocks depends on history.
func partitionText(p *objects.Partition) string {
	return dumpText(p, ignoredFields)
}

// dumpText returns a partition as text without some fields.
func dumpText(p *objects.Partition, without map[string]bool) string {
	d := &dump{p: p, without: without, seen: map[uintptr]int{}}
	d.value("partition", reflect.ValueOf(p))
	return d.text.String()
}

type dump struct {
	p       *objects.Partition
	without map[string]bool // omitted fields
	text    strings.Builder
	seen    map[uintptr]int
}

func (d *dump) line(path string, x any) { fmt.Fprintf(&d.text, "%s = %v\n", path, x) }

func (d *dump) value(path string, v reflect.Value) {
	name := v.Type().Name()
	switch {
	case name == "Mask" || v.Kind() == reflect.Func:
		return
	case strings.HasPrefix(name, "Index["):
		d.line(path+".n", v.FieldByName("n"))
		return
	case strings.HasPrefix(name, "Entry["):
		d.line(path+".in", !v.FieldByName("block").IsNil())
		return
	case name == "Vector" || name == "Denominators":
		d.line(path, d.vectorText(v))
		return
	case name == "priorityCount" && v.FieldByName("n").Int() == 0:
		d.line(path, "none") // the priority without an ask may be that of the last one
		return
	case name == "limitEntry":
		d.line(path, fmt.Sprint(d.resource(v.FieldByName("index").Int()), v.FieldByName("n")))
		return
	case v.Type() == reflect.TypeFor[resources.Index]():
		d.line(path, d.resource(v.Int()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		d.pointer(path, v)
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i).Name; {
			case d.without[name+"."+field]:
			case field == "wanting": // of attached
			case field == "attached":
				d.consumers(path+"."+field, v.Field(i))
			case field == "newPreemptors":
				d.members(path+"."+field, v.Field(i))
			case rareFields[name+"."+field]:
				d.rare(path+"."+field, v.Field(i))
			default:
				d.value(path+"."+field, v.Field(i))
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		d.line(path+".len", len(keys))
		for _, k := range keys {
			d.value(fmt.Sprintf("%s[%v]", path, k), v.MapIndex(k))
		}
	case reflect.Slice, reflect.Array:
		d.line(path+".len", v.Len())
		for i := range v.Len() {
			d.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		d.line(path, v)
	}
}

// consumers writes what the consumers of changes keep. The node cache of a victim search is there after the first
// search, and is brought up to date by the next.
func (d *dump) consumers(path string, v reflect.Value) {
	for i := range v.Len() {
		if of := reflect.Indirect(v.Index(i).Elem()); of.Type().Name() != "nodeCache" {
			d.value(path+"."+of.Type().Name(), v.Index(i))
		}
	}
}

// rare writes what is behind one of rareFields.
func (d *dump) rare(path string, v reflect.Value) {
	if v.IsNil() {
		d.value(path, reflect.Zero(v.Type().Elem()))
		return
	}
	d.value(path, v.Elem())
}

// members writes which pointers a list has, and nothing of what they point to: members may be removed, and so may be
// their queues, with amounts of resources that have no name any more.
func (d *dump) members(path string, v reflect.Value) {
	for i := range v.Len() {
		d.line(fmt.Sprintf("%s[%d]", path, i), v.Index(i).Pointer())
	}
}

func (d *dump) pointer(path string, v reflect.Value) {
	if v.IsNil() {
		d.line(path, nil)
		return
	}
	if v.Kind() == reflect.Pointer && !immutableTypes[v.Type().Elem().Name()] {
		if n, again := d.seen[v.Pointer()]; again {
			d.line(path, fmt.Sprint("#", n))
			return
		}
		d.seen[v.Pointer()] = len(d.seen)
	}
	d.value(path, v.Elem())
}

// resource returns one of the resource of an index, by its name.
func (d *dump) resource(index int64) resources.Amounts {
	kind := make(resources.Vector, index+1)
	kind[index] = 1
	return d.p.Amounts(kind)
}

// vectorText returns a vector by names, without zeros and unmeasured types.
func (d *dump) vectorText(v reflect.Value) string {
	var out []string
	for i := range v.Len() {
		if n := v.Index(i).Int(); n != 0 && n != int64(resources.Unmeasured) {
			out = append(out, fmt.Sprint(d.resource(int64(i)), n))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("fresh: %s\nused:  %s", w[i], g[min(i, len(g)-1)])
		}
	}
	return "used: " + g[len(w)]
}
