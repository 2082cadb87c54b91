package webservice

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

func viewAsk(w *scheduler.AllocationView) dao.Ask {
	return dao.Ask{
		AllocationKey:       string(w.Ask.Key),
		AllocationTags:      w.Ask.Tags(),
		RequestTime:         dao.Nanos(w.Created),
		Resource:            dao.QuantitiesOf(w.Ask.Amounts.All()),
		Priority:            priorityText(w),
		RequiredNodeID:      string(w.Ask.RequiredNode()),
		ApplicationID:       string(w.Ask.App),
		Placeholder:         w.Ask.Placeholder,
		TaskGroupName:       w.Ask.TaskGroup(),
		Originator:          w.Ask.Originator,
		TriggeredPreemption: w.Nominated != "",
		SchedulingAttempted: w.Waiting.State != objects.WaitUnreported,
		TriggeredScaleUp:    w.Waiting.State == objects.WaitFailed,
		NominatedNode:       string(w.Nominated),
		ReservedNode:        string(w.Reserved),
		PriorityClass:       w.PriorityClass,
		AllocationLog:       allocationLog(w, nil),
	}
}

func viewAllocation(w *scheduler.AllocationView) dao.Allocation {
	return dao.Allocation{
		AllocationKey:   string(w.Ask.Key),
		AllocationTags:  w.Ask.Tags(),
		RequestTime:     dao.Nanos(w.Created),
		AllocationTime:  dao.Nanos(w.BoundAt),
		AllocationDelay: w.SchedulingDelay.Nanoseconds(),
		Resource:        dao.QuantitiesOf(w.Ask.Amounts.All()),
		Priority:        priorityText(w),
		NodeID:          string(w.Node),
		ApplicationID:   string(w.Ask.App),
		Placeholder:     w.Ask.Placeholder,
		TaskGroupName:   w.Ask.TaskGroup(),
		Originator:      w.Ask.Originator,
		Preempted:       w.Preempting,
		PriorityClass:   w.PriorityClass,
	}
}

func priorityText(w *scheduler.AllocationView) string { return strconv.Itoa(int(w.Ask.Priority)) }

// wholeNode and wholeApplication are the bodies with all their lists.
func wholeNode(n *scheduler.NodeView) dao.Node {
	v := dao.NewNode(n)
	if n.Allocations.Len() == 0 {
		return v
	}
	var all []dao.Allocation
	for w := range n.Allocations.All() {
		all = append(all, viewAllocation(w))
	}
	v.Allocations = all
	return v
}

func wholeApplication(a *scheduler.ApplicationView) dao.Application {
	v := dao.NewApplication(a)
	v.Requests, v.Allocations = nil, nil
	var asks []dao.Ask
	var allocations []dao.Allocation
	for w := range a.Allocations.All() {
		if w.Node == "" {
			asks = append(asks, viewAsk(w))
			v.Requests = asks
		} else {
			allocations = append(allocations, viewAllocation(w))
			v.Allocations = allocations
		}
	}
	return v
}

// anyText are texts with all that JSON escapes.
var anyText = rapid.OneOf(
	rapid.String(), rapid.StringMatching(`[a-z<>&"\\]*`),
	rapid.SampledFrom([]string{"", "\u2028", "\x7f", "\x00\n", `"allocations":[{}]`}),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

func drawAmounts(t *rapid.T) resources.Amounts {
	m := map[string]resources.Quantity{}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		m[anyText.Draw(t, "resource")] = resources.Quantity(rapid.Int64().Draw(t, "quantity"))
	}
	return resources.FromMap(m)
}

func drawAllocation(t *rapid.T) *scheduler.AllocationView {
	text := func(name string) string { return anyText.Draw(t, name) }
	at := func(name string) time.Time {
		if n := rapid.Int64Range(-5, 1<<60).Draw(t, name); n >= 0 {
			return time.Unix(0, n)
		}
		return time.Time{}
	}
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return &scheduler.AllocationView{
		Ask: &objects.Ask{
			Key: objects.AllocationKey(text("key")), App: objects.AppID(text("app")), Amounts: drawAmounts(t),
			Priority: rapid.Int32().Draw(t, "priority"),
			Details: objects.NewAskDetails(objects.AskDetails{
				Tags: rapid.MapOfN(anyText, anyText, -1, 4).Draw(t, "tags"), RequiredNode: objects.NodeID(text("required")),
				TaskGroup: text("group"),
			}),
			Placeholder: yes("placeholder"), Originator: yes("originator"),
		},
		Waiting: objects.WaitingReport{
			State: rapid.SampledFrom([]objects.WaitingState{0, objects.WaitSkipped, objects.WaitFailed}).Draw(t, "state"),
			Quota: rapid.SampledFrom([]objects.QuotaKind{objects.NoQuota, objects.QueueQuota, objects.UserQuota}).Draw(t,
				"quota"), At: at("waits"),
		},
		PriorityClass: text("class"), Created: at("created"), Node: objects.NodeID(text("node")),
		Preempting: yes("preempting"),
		Nominated:  objects.NodeID(text("nominated")), Reserved: objects.NodeID(text("reserved")), BoundAt: at("bound"),
		SchedulingDelay: time.Duration(rapid.Int64().Draw(t, "delay")),
	}
}

// Nodes and applications with random allocations are, byte for byte, what encoding/json makes of the whole body.
func TestAllocations_EqualMarshalling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := persistent.ListOf(rapid.SliceOfN(rapid.Custom(drawAllocation), -1, 9).Draw(t, "allocations")...)
		node := &scheduler.NodeView{ID: "n",
			Attributes: map[string]string{anyText.Draw(t, "attribute"): anyText.Draw(t, "value")}, Total: drawAmounts(t)}
		var bound []*scheduler.AllocationView
		for w := range all.All() {
			if w.Node != "" {
				bound = append(bound, w)
			}
		}
		node.Allocations = persistent.ListOf(bound...)
		app := &scheduler.ApplicationView{ID: objects.AppID(anyText.Draw(t, "id")), Pending: drawAmounts(t), Allocations: all}
		app.User.Groups = []string{anyText.Draw(t, "group")}
		body := wholeApplication(app)
		body.Partition, body.QueueName = "p", anyText.Draw(t, "queue")
		e := newEncoder()
		nodeText, _ := nodePieces(e, node)
		assert.Equal(t, joined(nodeText), marshalled(t, wholeNode(node)))
		appText, _ := applicationPieces(e, "p", body.QueueName, app)
		assert.Equal(t, joined(appText), marshalled(t, body))
	})
}

func joined(all pieces) string {
	var b bytes.Buffer
	for piece := range all {
		b.Write(piece)
	}
	return b.String()
}

func marshalled(t assert.TestingT, body any) string {
	text, err := json.Marshal(body)
	assert.NilError(t, err)
	return string(text)
}

// The order in which paths are compared is that of a walk through the tree.
func TestComparePaths_IsTheOrderOfTheTree(t *testing.T) {
	paths := []string{"root", "root.a", "root.a.#", "root.a.x", "root.a.x.y", "root.a#", "root.a-b", "root.a-b.c",
		"root.aa", "root.b"}
	for i, a := range paths {
		for j, b := range paths {
			assert.Equal(t, comparePaths(a, b), cmp.Compare(i, j), "%s and %s", a, b)
		}
	}
}

// An ask that has reserved a node is found by the state that the resource manager was told, and by its reservation
// (RST-12).
func TestAskFilter_ReservedAsksKeepTheirWaitingState(t *testing.T) {
	reserved := scheduler.AllocationView{Reserved: "n1", Waiting: objects.WaitingReport{State: objects.WaitFailed}}
	waits := scheduler.AllocationView{Waiting: objects.WaitingReport{State: objects.WaitFailed}}
	for state, want := range map[string][2]bool{"failed": {true, true}, "reserved": {true, false}, "skipped": {}} {
		f := askFilter{waitingState: state}
		got := [2]bool{f.matches(pendingAsk{view: &reserved}, time.Time{}), f.matches(pendingAsk{view: &waits}, time.Time{})}
		assert.Equal(t, got, want, state)
	}
}
