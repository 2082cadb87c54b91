package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Result is how an assertion came out. Its JSON form is for other programs, so names stay.
type Result struct {
	Line        int          `json:"line"`
	Name        string       `json:"name"` // the assertion's own, or its question
	OK          bool         `json:"ok"`
	Differences []Difference `json:"differences"` // empty: none
}

// Difference is something that is not as expected.
type Difference struct {
	What     string `json:"what"` // the path of the queue first, where it is about one
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: expected %s, actual %s", d.What, d.Expected, d.Actual)
}

// Check answers all assertions, in their order. Those about one partition share a World.
// The error names a partition that the configuration does not have.
func Check(conf *configs.Config, all Assertions) ([]Result, error) {
	worlds := map[string]*World{}
	out := make([]Result, 0, len(all.List))
	for i := range all.List {
		a := &all.List[i]
		w := worlds[a.Partition]
		if w == nil {
			var err error
			if w, err = New(conf, a.Partition); err != nil {
				return nil, fmt.Errorf("line %d: %w", a.Line, err)
			}
			worlds[a.Partition] = w
		}
		out = append(out, w.check(a))
	}
	return out, nil
}

func (w *World) check(a *Assertion) Result {
	r := &Result{Line: a.Line, Name: cmp.Or(a.Name, a.Question()), Differences: []Difference{}}
	var err error
	switch {
	case a.Place != nil:
		err = w.checkPlace(r, a)
	case a.Limit != nil:
		err = w.checkLimit(r, a)
	case a.Work != nil:
		err = w.checkWork(r, a)
	default:
		err = w.on(a.Cluster, func() error { return w.checkQueue(r, a.Queue, a) })
	}
	if err != nil {
		r.differ(a.Question(), "an answer", err.Error())
	}
	r.OK = len(r.Differences) == 0
	return *r
}

func (r *Result) differ(what, expected, actual string) {
	if expected != actual {
		r.Differences = append(r.Differences, Difference{what, expected, actual})
	}
}

// machine is the node that stands for a stated cluster.
const machine objects.NodeID = "cluster"

// on does something while the partition has the stated nodes; nil: none. They stay until a
// question states others: what queues are measured against changes with them, for every
// queue, and most questions of a file are about one cluster.
func (w *World) on(cluster *resources.Amounts, do func() error) error {
	if w.cluster != nil && (cluster == nil || !w.cluster.Equal(*cluster)) {
		if _, err := w.part.RemoveNode(machine, beginning); err != nil {
			panic(fmt.Sprintf("offline: the node that was added is gone: %v", err))
		}
		w.cluster = nil
	}
	if w.cluster == nil && cluster != nil {
		if err := w.part.AddNode(machine, *cluster, nil, true); err != nil {
			return err
		}
		w.cluster = cluster
	}
	return do()
}

func (w *World) checkPlace(r *Result, a *Assertion) error {
	e := &a.Expect
	if e.Max == nil && e.Guaranteed == nil && e.MaxApplications == nil {
		w.comparePlacing(r, a, w.Place(*a.Place))
		return nil
	}
	return w.on(a.Cluster, func() error {
		p := w.place(*a.Place)
		defer w.leave(&p)
		w.comparePlacing(r, a, p)
		if !p.Placed {
			r.differ("queue", "one that has max, guaranteed or maxapplications", "rejected: "+p.Reason)
			return nil
		}
		return w.checkQueue(r, p.Queue, a)
	})
}

func (w *World) comparePlacing(r *Result, a *Assertion, p Placing) {
	e := &a.Expect
	if e.Rejected != nil {
		switch {
		case p.Placed:
			r.differ("placement", "rejected", fmt.Sprintf("%s by %s", p.Queue, p.Rule))
		case !strings.Contains(p.Reason, *e.Rejected):
			r.differ("reason", "one with "+fmt.Sprintf("%q", *e.Rejected), p.Reason)
		}
		return
	}
	if !p.Placed {
		r.differ("placement", "a queue", "rejected: "+p.Reason)
		return
	}
	if e.Queue != nil {
		r.differ("queue", *e.Queue, p.Queue)
	}
	if e.Rule != nil {
		r.differ(p.Queue+" rule", *e.Rule, p.Rule)
	}
	if e.Created != nil {
		r.differ(p.Queue+" created", fmt.Sprint(*e.Created), fmt.Sprint(len(p.Created) > 0))
	}
}

// checkQueue compares what holds for a queue, the queues above it and the cluster counted
// in.
func (w *World) checkQueue(r *Result, path string, a *Assertion) error {
	q, ok := w.part.Queue(objects.QueuePath(path))
	if !ok {
		return fmt.Errorf("there is no queue %s; what a rule would create, place asks about", path)
	}
	e := &a.Expect
	most := w.part.Headroom(q) // of an empty cluster
	limit := func(resource string) (resources.Quantity, bool) {
		n, limited := most.Get(resource)
		if a.Cluster != nil && a.Cluster.Get(resource) == 0 {
			return 0, true // root has nothing of what no node has (behaviour.md 3.4)
		}
		return n, limited
	}
	for _, x := range e.Max {
		n, limited := limit(x.Resource)
		r.differ(path+" max "+x.Resource, x.String(), quantityText(x.Resource, n, limited))
	}
	for _, x := range e.Guaranteed {
		n, _ := q.Guaranteed().Get(x.Resource)
		if most, limited := limit(x.Resource); limited {
			n = min(n, most)
		}
		r.differ(path+" guaranteed "+x.Resource, x.String(), resources.Text(x.Resource, n))
	}
	if e.MaxApplications != nil {
		r.differ(path+" maxapplications", fmt.Sprint(*e.MaxApplications), fmt.Sprint(maxApplications(q)))
	}
	return nil
}

// maxApplications is the smallest bound of a queue and those above it; 0: none.
func maxApplications(q *objects.Queue) uint64 {
	var most []uint64
	for ; q != nil; q = q.Parent() {
		if n := q.MaxApplications(); n != 0 {
			most = append(most, n)
		}
	}
	if len(most) == 0 {
		return 0
	}
	return slices.Min(most)
}
