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

// Result is the result of an assertion. Its JSON names are a public interface and stay.
type Result struct {
	Line        int          `json:"line"`
	Name        string       `json:"name"` // of the assertion or, without one, its question
	OK          bool         `json:"ok"`
	Differences []Difference `json:"differences"` // empty: none
}

// Difference is a value that is not as expected.
type Difference struct {
	What     string `json:"what"` // name of the value; the path of a queue comes first
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: expected %s, actual %s", d.What, d.Expected, d.Actual)
}

// Check checks all assertions, in their order. Assertions about the same partition share one
// Partition. The error names a partition that the configuration does not have.
func Check(conf *configs.Config, all Assertions) ([]Result, error) {
	partitions := map[string]*Partition{}
	out := make([]Result, 0, len(all.List))
	for i := range all.List {
		a := &all.List[i]
		w := partitions[a.Partition]
		if w == nil {
			var err error
			if w, err = New(conf, a.Partition); err != nil {
				return nil, fmt.Errorf("line %d: %w", a.Line, err)
			}
			partitions[a.Partition] = w
		}
		out = append(out, w.check(a))
	}
	return out, nil
}

func (p *Partition) check(a *Assertion) Result {
	r := &Result{Line: a.Line, Name: cmp.Or(a.Name, a.Question()), Differences: []Difference{}}
	var err error
	switch {
	case a.Place != nil:
		err = p.checkPlace(r, a)
	case a.Limit != nil:
		err = p.checkLimit(r, a)
	case a.Workloads != nil:
		err = p.checkWorkload(r, a)
	case a.Section != "":
		for _, x := range a.Expect.Settings {
			r.compare(a.Section+" "+x.Setting.Key, x.Text, x.Setting.Text(&p.conf))
		}
	default:
		err = p.withCluster(a.Cluster, func() error { return p.checkQueue(r, a.Queue, a) })
	}
	if err != nil {
		r.compare(a.Question(), "a result", err.Error())
	}
	r.OK = len(r.Differences) == 0
	return *r
}

func (r *Result) compare(what, expected, actual string) {
	if expected != actual {
		r.Differences = append(r.Differences, Difference{what, expected, actual})
	}
}

// clusterNode is the single node that has the capacity of a stated cluster.
const clusterNode objects.NodeID = "cluster"

// withCluster calls do while the partition has a node with the stated capacity; nil: no node. The node
// stays until an assertion states another cluster: a change of the cluster recomputes the shares
// of every queue, and most assertions of a file state the same one.
func (p *Partition) withCluster(cluster *resources.Amounts, do func() error) error {
	if p.cluster != nil && (cluster == nil || !p.cluster.Equal(*cluster)) {
		if _, err := p.partition.RemoveNode(clusterNode, fixedTime); err != nil {
			panic(fmt.Sprintf("offline: the node that was added is gone: %v", err))
		}
		p.cluster = nil
	}
	if p.cluster == nil && cluster != nil {
		if err := p.partition.AddNode(clusterNode, *cluster, nil, true); err != nil {
			return err
		}
		p.cluster = cluster
	}
	return do()
}

func (w *Partition) checkPlace(r *Result, a *Assertion) error {
	e := &a.Expect
	if e.Max == nil && e.Guaranteed == nil && e.MaxApplications == nil && e.Properties == nil {
		w.comparePlacement(r, a, w.Place(*a.Place))
		return nil
	}
	return w.withCluster(a.Cluster, func() error {
		p := w.place(*a.Place)
		defer w.removeApplication(&p)
		w.comparePlacement(r, a, p)
		if !p.Placed {
			r.compare("queue", "a queue with max, guaranteed, maxapplications or properties", "rejected: "+p.Reason)
			return nil
		}
		return w.checkQueue(r, p.Queue, a)
	})
}

func (w *Partition) comparePlacement(r *Result, a *Assertion, p Placement) {
	e := &a.Expect
	if e.Rejected != nil {
		switch {
		case p.Placed:
			r.compare("placement", "rejected", fmt.Sprintf("%s by %s", p.Queue, p.Rule))
		case !strings.Contains(p.Reason, *e.Rejected):
			r.compare("reason", "a reason with "+fmt.Sprintf("%q", *e.Rejected), p.Reason)
		}
		return
	}
	if !p.Placed {
		r.compare("placement", "a queue", "rejected: "+p.Reason)
		return
	}
	if e.Queue != nil {
		r.compare("queue", *e.Queue, p.Queue)
	}
	if e.Rule != nil {
		r.compare(p.Queue+" rule", *e.Rule, p.Rule)
	}
	if e.Created != nil {
		r.compare(p.Queue+" created", fmt.Sprint(*e.Created), fmt.Sprint(len(p.Created) > 0))
	}
}

// checkQueue compares the effective max, guarantee and max applications of a queue, combined
// with those of the queues above and with the cluster (QUO-1, QUO-4).
func (p *Partition) checkQueue(r *Result, path string, a *Assertion) error {
	q, ok := p.partition.Queue(objects.QueuePath(path))
	if !ok {
		return fmt.Errorf("there is no queue %s; use place for a queue that a rule would create", path)
	}
	e := &a.Expect
	p.quotas.Refresh(fixedTime)
	most := p.partition.Headroom(q) // nothing is allocated, so the headroom is the effective max
	limit := func(resource string) (resources.Quantity, bool) {
		n, limited := most.Get(resource)
		if a.Cluster != nil && a.Cluster.Get(resource) == 0 {
			return 0, true // the max of root is the capacity of the nodes (QUO-4)
		}
		return n, limited
	}
	for _, x := range e.Max {
		n, limited := limit(x.Resource)
		r.compare(path+" max "+x.Resource, x.String(), formatExpected(x.Resource, n, limited))
	}
	for _, x := range e.Guaranteed {
		n, _ := q.Guaranteed().Get(x.Resource)
		if most, limited := limit(x.Resource); limited {
			n = min(n, most)
		}
		r.compare(path+" guaranteed "+x.Resource, x.String(), resources.FormatQuantity(x.Resource, n))
	}
	if e.MaxApplications != nil {
		r.compare(path+" maxapplications", fmt.Sprint(*e.MaxApplications), fmt.Sprint(maxApplications(q)))
	}
	for _, x := range e.Properties {
		text := q.Settings().Properties[x.Name]
		if configs.SameProperty(x.Name, x.Text, text) {
			continue
		}
		if text == "" {
			property, _ := configs.FindProperty(x.Name)
			text = cmp.Or(property.Default, "not set")
		}
		r.compare(path+" "+x.Name, x.Text, text)
	}
	return nil
}

// maxApplications is the smallest max applications of a queue and the queues above it; 0: unlimited (QUO-26).
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
