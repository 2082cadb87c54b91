package webservice

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// evictionBody is the order in which node pressure would end the allocations of a node.
type evictionBody struct {
	NodeID   string `json:"nodeID"`
	Resource string `json:"resource"`
	// what the node lacks after the preempted allocations have ended
	OverCapacity        dao.Quantities `json:"overCapacity"`
	NodePressureEnabled bool           `json:"nodePressureEnabled"` // true: a lowered capacity preempts the victims
	Order               []evictionStep `json:"order"`               // the first to be evicted comes first
}

type evictionStep struct {
	AllocationKey string `json:"allocationKey"`
	ApplicationID string `json:"applicationId"`
	Priority      int32  `json:"priority"`
	Request       int64  `json:"request"`
	Used          int64  `json:"used"`
	UsageReported bool   `json:"usageReported"` // false: the request is taken as the usage
	OverRequest   int64  `json:"overRequest"`   // negative: it uses less
	Preempting    bool   `json:"preempting"`    // it is already being preempted
	Victim        bool   `json:"victim"`        // proposed: without it the node has what the other allocations request
}

// evictionOrder ranks the allocations of a node as kubelet does under node pressure. The resource is
// that of the query, else the one that the node lacks most, else memory (PRE-118).
func (s *service) evictionOrder(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	n, err := nodeIn(r, snap)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, notFound("node " + r.PathValue("node"))
	}
	load := victim.NodeLoad{Total: n.Total, Available: n.Available}
	preempting := map[objects.AllocationKey]bool{}
	var all []*objects.Ask
	for w := range n.Allocations.All() {
		ask := w.Ask
		all = append(all, ask)
		if w.Preempting {
			preempting[ask.Key] = true
			load.Available = load.Available.Add(ask.Amounts)
		} else {
			load.Allocations = append(load.Allocations, ask)
		}
	}
	scarcest, _ := load.ScarcestResource()
	wanted := r.URL.Query().Get("resource")
	if wanted != "" && n.Total.Get(wanted) == 0 &&
		!slices.ContainsFunc(all, func(x *objects.Ask) bool { return x.Amounts.Get(wanted) > 0 }) {
		return nil, badRequest("resource %q: neither node %s nor an allocation on it has any", wanted, n.ID)
	}
	body := evictionBody{
		NodeID: string(n.ID), Resource: cmp.Or(wanted, scarcest, "memory"),
		OverCapacity: dao.Quantities{}, NodePressureEnabled: snap.NodePressure, Order: []evictionStep{},
	}
	for name, left := range load.Available.All() {
		if left < 0 {
			body.OverCapacity[name] = -int64(left)
		}
	}
	proposed := victim.ForNodePressure(load)
	for _, c := range victim.EvictionOrder(all, body.Resource) {
		body.Order = append(body.Order, evictionStep{
			AllocationKey: string(c.Ask.Key), ApplicationID: string(c.Ask.App), Priority: c.Ask.Priority,
			Request: int64(c.Requested), Used: int64(c.Used), UsageReported: c.Reported, OverRequest: int64(c.AboveRequest()),
			Preempting: preempting[c.Ask.Key], Victim: slices.Contains(proposed, c.Ask),
		})
	}
	return body, nil
}
