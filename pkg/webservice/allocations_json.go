package webservice

import (
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The JSON of asks and allocations, with the keys of YuniKorn; ours are said. They are most of the text of nodes
// and applications, whose bodies are in package dao.

// allocation appends an allocation. It has the time of the ask, the time of the bind, and the scheduling delay
// between them in this process. YuniKorn has the first time twice, and so a delay of zero (docs/YUNIKORN.md).
func (t *jsonText) allocation(w *scheduler.AllocationView) {
	t.begin('{')
	t.field("allocationKey", string(w.Ask.Key))
	t.optionalMap("allocationTags", w.Ask.Tags())
	t.optionalNumber("requestTime", dao.Nanos(w.Created))
	t.optionalNumber("allocationTime", dao.Nanos(w.BoundAt))
	t.optionalNumber("allocationDelay", w.SchedulingDelay.Nanoseconds())
	t.optionalAmounts("resource", w.Ask.Amounts)
	t.priority(w)
	t.optional("nodeId", string(w.Node))
	t.optional("applicationId", string(w.Ask.App))
	t.optionalTrue("placeholder", w.Ask.Placeholder)
	t.optional("taskGroupName", w.Ask.TaskGroup())
	t.optionalTrue("originator", w.Ask.Originator)
	t.optionalTrue("preempted", w.Preempting)
	t.optional("priorityClass", w.PriorityClass) // ours: the class under which class quotas count it
	t.end('}')
}

// ask appends a pending ask.
func (t *jsonText) ask(w *scheduler.AllocationView, refusals []Refusal) {
	t.begin('{')
	t.askFields(w)
	t.optionalLog(allocationLog(w, refusals))
	t.end('}')
}

// askFields appends the fields of a pending ask.
func (t *jsonText) askFields(w *scheduler.AllocationView) {
	t.field("allocationKey", string(w.Ask.Key))
	t.optionalMap("allocationTags", w.Ask.Tags())
	t.optionalNumber("requestTime", dao.Nanos(w.Created))
	t.optionalAmounts("resource", w.Ask.Amounts)
	t.priority(w)
	t.optional("requiredNodeId", string(w.Ask.RequiredNode()))
	t.optional("applicationId", string(w.Ask.App))
	t.optionalTrue("placeholder", w.Ask.Placeholder)
	t.optional("taskGroupName", w.Ask.TaskGroup())
	t.optionalTrue("originator", w.Ask.Originator)
	t.optionalTrue("triggeredPreemption", w.Nominated != "") // the ask is nominated for a node
	t.optionalTrue("schedulingAttempted", w.Waiting.State != objects.WaitUnreported)
	t.optionalTrue("triggeredScaleUp", w.Waiting.State == objects.WaitFailed)
	t.optional("nominatedNode", string(w.Nominated)) // ours: that node
	t.optional("reservedNode", string(w.Reserved))   // ours: the node that the ask has reserved
	t.optional("priorityClass", w.PriorityClass)     // ours: the class under which class quotas count it
}

// priority appends the priority, which is a text.
func (t *jsonText) priority(w *scheduler.AllocationView) {
	t.name("priority")
	t.text = append(t.text, '"')
	t.text = strconv.AppendInt(t.text, int64(w.Ask.Priority), 10)
	t.text, t.comma = append(t.text, '"'), true
}

var zeroElement = []byte("{}")

// spliceAllocations is the JSON of body, in which the lists "requests" and "allocations" are a listPlaceholder or
// missing, with the asks and the allocations of all.
func spliceAllocations(e *encoder, body any, all persistent.List[scheduler.AllocationView]) pieces {
	return func(yield func([]byte) bool) {
		t := newJSONText()
		defer t.release()
		rest := e.piece(body)
		for _, field := range []string{"requests", "allocations"} { // in the order of the JSON
			before, after, found := cutAroundList(rest, field, zeroElement)
			if !found {
				continue // the list is empty
			}
			rest = after
			t.text, t.comma = append(t.text, before...), false
			t.begin('[')
			for w := range all.All() {
				switch pending := w.Node == ""; {
				case pending != (field == "requests"):
					continue
				case pending:
					t.ask(w, e.refusalsOf(w.Ask.Key))
				default:
					t.allocation(w)
				}
				if !t.flush(yield) {
					return
				}
			}
			t.end(']')
		}
		t.text = append(t.text, rest...)
		yield(t.text)
	}
}
