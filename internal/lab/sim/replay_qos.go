package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QoSPriorities returns the default priorities of the QoS classes of openb traces, by name in lower case.
func QoSPriorities() map[string]int32 {
	return map[string]int32{"be": 0, "burstable": 100, "guaranteed": 200, "ls": 300}
}

// QoSClass returns the QoS class of a task, in lower case.
func (t Task) QoSClass() string { return strings.ToLower(t.QoS) }

// Preemption has the figures of preemption in a replay. Its JSON form is stable: other programs read
// it.
type Preemption struct {
	Preemptions  int             `json:"preemptions"`  // asks that preempted
	Unsuccessful int             `json:"unsuccessful"` // of these, asks that were not placed
	Victims      int             `json:"victims"`      // preempted allocations
	Resubmitted  int             `json:"resubmitted"`
	PlacedAgain  int             `json:"placedAgain"`
	Lost         demo.Quantities `json:"lost"`  // resources of the victims
	ByQoS        []QoSLine       `json:"byQoS"` // by descending priority
}

// QoSLine has the figures of a QoS class.
type QoSLine struct {
	QoS            string          `json:"qos"` // in lower case
	Priority       int32           `json:"priority"`
	Tasks          int             `json:"tasks"`
	Placed         int             `json:"placed"`         // tasks that were placed at least once
	Preempted      int             `json:"preempted"`      // victims among its allocations
	Resubmitted    int             `json:"resubmitted"`    // victims that asked again
	PlacedAgain    int             `json:"placedAgain"`    // resubmitted asks that were placed
	Running        int             `json:"running"`        // at the end
	Waiting        int             `json:"waiting"`        // pending at the end
	NotResubmitted int             `json:"notResubmitted"` // victims that did not ask again
	Rejected       int             `json:"rejected"`       // asks that the scheduler rejected
	Lost           demo.Quantities `json:"lost"`           // resources of the victims
}

// Preemption adds up the figures. The replay must have ended.
func (r *Replay) Preemption() Preemption {
	lines := map[string]*QoSLine{}
	for _, t := range r.Tasks {
		qos := t.QoSClass()
		if lines[qos] == nil {
			lines[qos] = &QoSLine{QoS: qos, Priority: r.priority(qos)}
		}
		lines[qos].Tasks++
	}
	of := func(key objects.AllocationKey) *QoSLine { return lines[r.attempts[key].task.QoSClass()] }
	for key, try := range r.attempts {
		if try.number > 1 {
			of(key).Resubmitted++
		}
	}
	wasPlaced := map[objects.AllocationKey]bool{}
	for _, e := range r.Client.Log() {
		switch first := !wasPlaced[r.firstAskOf(e.Key)]; {
		case e.Kind != Placed:
		case r.attempts[e.Key].number > 1:
			of(e.Key).PlacedAgain++
			fallthrough
		default:
			if first {
				of(e.Key).Placed++
			}
			wasPlaced[e.Key], wasPlaced[r.firstAskOf(e.Key)] = true, true
		}
	}
	for _, key := range r.Client.Running() {
		of(key).Running++
	}
	for _, key := range r.Client.Waiting() {
		of(key).Waiting++
	}
	for _, x := range r.Client.Rejections() {
		of(x.Key).Rejected++
	}
	out := Preemption{}
	lost, all := map[*QoSLine]resources.Amounts{}, resources.Amounts{}
	preemptors := map[objects.AllocationKey]bool{}
	for _, v := range r.Client.AllVictims() {
		line := of(v.Key)
		line.Preempted++
		lost[line], all = lost[line].Add(v.Amounts), all.Add(v.Amounts)
		preemptors[v.Preemptor] = true
	}
	for key := range preemptors {
		out.Preemptions++
		if !wasPlaced[key] {
			out.Unsuccessful++
		}
	}
	for line := range maps.Values(lines) {
		line.NotResubmitted, line.Lost = line.Preempted-line.Resubmitted, lost[line].Map()
		out.Victims += line.Preempted
		out.Resubmitted += line.Resubmitted
		out.PlacedAgain += line.PlacedAgain
		out.ByQoS = append(out.ByQoS, *line)
	}
	out.Lost = all.Map()
	slices.SortFunc(out.ByQoS, func(a, b QoSLine) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.QoS, b.QoS))
	})
	return out
}
