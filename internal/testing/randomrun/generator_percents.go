package randomrun

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// percentRuns is the share of runs whose queues have percents: one in so many.
const percentRuns = 3

// addPercents turns some quotas of the configurations of a run into percents. What they are follows from the queue and
// the quantity, so that a reload that changes neither changes nothing, and the other steps are the same.
func (s *Run) addPercents() {
	if !independentGenerator(fmt.Sprint("with percents ", describePartition(s.Partition))).OneIn(percentRuns) {
		return
	}
	s.Partition.Root = withPercents(s.Partition.Root, "")
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			c.Partition.Root = withPercents(c.Partition.Root, "")
			s.Steps[i].Command = c
		}
	}
}

// withPercents returns a copy of the queue at path with percents in and below it.
func withPercents(q configs.Queue, path string) configs.Queue {
	path += "." + q.Name
	if q.Name != "root" {
		q.Max, q.Guaranteed = quotasInPercent(path, q.Max, q.Guaranteed)
	}
	q.QuotaSettle = Pick(independentGenerator("settle "+path), 0, 5*time.Second, time.Minute, time.Minute)
	if t := q.ChildTemplate; t != nil {
		copied := *t
		copied.Max, copied.Guaranteed = quotasInPercent(path+" template", t.Max, t.Guaranteed)
		q.ChildTemplate = &copied
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		q.Children[i] = withPercents(q.Children[i], path)
	}
	return q
}

func quotasInPercent(path string, most resources.Limit, least resources.Guarantee) (resources.Limit,
	resources.Guarantee) {
	written, percents := inPercent(path+" max ", most.All())
	guaranteed, parts := inPercent(path+" guaranteed ", least.All())
	return resources.LimitFromMap(written).WithPercents(percents),
		resources.GuaranteeFromMap(guaranteed).WithPercents(parts)
}

// inPercent turns half of the quantities into percents.
func inPercent(of string, all iter.Seq2[string, resources.Quantity]) (map[string]resources.Quantity,
	map[string]resources.Percent) {
	written, percents := map[string]resources.Quantity{}, map[string]resources.Percent{}
	for name, n := range all {
		g := independentGenerator(fmt.Sprint(of, name, n))
		if g.OneIn(2) {
			written[name] = n
			continue
		}
		percents[name] = Pick[resources.Percent](g, 100_00, 75_00, 50_00, 50_00, 33_33, 12_50, 10)
	}
	return written, percents
}
