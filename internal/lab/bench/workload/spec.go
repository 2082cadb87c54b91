package workload

import "encoding/json"

// Spec is a workload: the flags of `canopy-lab bench run`. The stream of requests follows from it and the
// seed alone.
type Spec struct {
	Depth       int     `json:"depth"`       // levels of queues below root, at least 1
	Fanout      int     `json:"fanout"`      // children of each parent
	AppsPerLeaf int     `json:"appsPerLeaf"` // applications in each leaf
	Asks        int     `json:"asks"`        // total, assigned to the applications in turn
	Nodes       int     `json:"nodes"`
	Shapes      int     `json:"shapes"`     // different sizes of asks, the n-th 1/n as frequent; Asks: every ask is unique
	Types       int     `json:"types"`      // resource types of every ask and node, at least 1: vcore, memory, then others
	Priorities  int     `json:"priorities"` // different priorities of asks, at least 1
	Tags        int     `json:"tags"`       // tags on every ask
	Sort        string  `json:"sort"`       // fifo, fair or stateaware
	NodeSort    string  `json:"nodeSort"`   // fair or binpacking
	Churn       float64 `json:"churn"`      // after filling, this share of the allocations is released and requested anew
	Saturation  float64 `json:"saturation"` // demand as a share of capacity; above 1 the cluster is full
	Bound       float64 `json:"bound"`      // share of the leaves that reach their max
	Rate        float64 `json:"rate"`       // events per second, sent at random times; 0: as fast as possible
	Via         string  `json:"via"`        // core, inprocess or grpc

	Constraint string `json:"constraint,omitempty"` // what every ask has: one of Constraints; empty: none
	// different labels and selectors of asks with a constraint, in turn; 0: 1
	Kinds int `json:"kinds,omitempty"`

	Topology string `json:"topology,omitempty"` // of every gang: one of Topologies; empty: none

	// asks that preempt once the cluster is full; 0: none, and the fields below are not used
	Preemptors int `json:"preemptors,omitempty"`
	// leaf or fence: preemption by priority in this scope; guarantee: for a guarantee
	PreemptBy string `json:"preemptBy,omitempty"`
	Victims   int    `json:"victims,omitempty"` // size of a preemptor in allocations of the most frequent size
	// different sizes of preemptors, nearly equal; Preemptors: each is unique
	PreemptorSizes int `json:"preemptorSizes,omitempty"`
	AtOnce         int `json:"atOnce,omitempty"` // preemptors submitted together, before a victim is confirmed
}

// Text returns s as JSON.
func (s Spec) Text() string {
	text, err := json.Marshal(s)
	if err != nil { // NaN and infinity
		return err.Error()
	}
	return string(text)
}

// Bytes estimates the memory of the process that measures a workload: the core, the stream, and as much
// again for the garbage collector.
func (s Spec) Bytes() int64 {
	queues, leaves := s.Queues()
	asks := int64(s.Asks) * int64(500+100*s.Tags+100*s.Types)
	return 2 * (asks + int64(s.Preemptors)*1000 + int64(float64(s.Asks)*s.Churn)*8 + int64(s.Nodes)*2000 +
		int64(queues)*4000 +
		int64(leaves)*int64(s.AppsPerLeaf)*1500)
}
