package bench

// Spec is a workload: the flags of `canopy bench run`. The stream of requests follows
// from it and the seed alone.
type Spec struct {
	Depth       int     `json:"depth"`       // levels of queues below root, at least 1
	Fanout      int     `json:"fanout"`      // children of each parent
	AppsPerLeaf int     `json:"appsPerLeaf"` // applications in each leaf
	Asks        int     `json:"asks"`        // in all, dealt to the applications in turn
	Nodes       int     `json:"nodes"`
	Shapes      int     `json:"shapes"`     // different sizes of asks, of which the n-th is asked for 1/n as often; Asks: every ask is unique
	Types       int     `json:"types"`      // resource types of every ask and node, at least 1: vcore, memory, then others
	Priorities  int     `json:"priorities"` // different priorities of asks, at least 1
	Tags        int     `json:"tags"`       // tags on every ask
	Sort        string  `json:"sort"`       // fifo, fair or stateaware
	NodeSort    string  `json:"nodeSort"`   // fair or binpacking
	Churn       float64 `json:"churn"`      // after filling, this share of what was allocated is released and asked for anew
	Saturation  float64 `json:"saturation"` // demand as a share of capacity; above 1 the cluster fills up
	Bound       float64 `json:"bound"`      // share of the leaves that are held at their max
	Rate        float64 `json:"rate"`       // events per second, sent at random times; 0: as fast as it goes
	Via         string  `json:"via"`        // core, inprocess or grpc

	Preemptors     int    `json:"preemptors,omitempty"`     // asks that take the place of others once the cluster is full; 0: none, and what follows means nothing
	PreemptBy      string `json:"preemptBy,omitempty"`      // leaf or fence: by right of priority, as far as that; guarantee: by that right
	Victims        int    `json:"victims,omitempty"`        // how many of the commonest allocations each is as large as
	PreemptorSizes int    `json:"preemptorSizes,omitempty"` // different sizes of preemptors, all but alike; Preemptors: each is unique
	AtOnce         int    `json:"atOnce,omitempty"`         // how many preemptors come together, before any victim leaves
}
