package fairshare

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Shares computes the fair shares of one partition, and keeps them until something changes that they depend on. It
// follows the changes of the partition.
type Shares struct {
	part    *objects.Partition
	levels  map[*objects.Queue]*Level           // of the present moment
	demands map[*objects.Queue]resources.Vector // what queues could use, without their own max

	largest      resources.Vector // see largestNode, if largestKnown
	largestKnown bool
	priced       *fairness.Weights // nil: not computed

	extra *objects.Allocation // a hypothetical ask, which counts as pending; nil: none

	enabled      bool // a queue shares fairly, if enabledKnown
	enabledKnown bool
}

// New returns the Shares of p from now on.
func New(p *objects.Partition) *Shares {
	s := Of(p)
	objects.Attach(p, s)
	return s
}

// Of returns the Shares of p at the present moment. They follow no changes.
func Of(p *objects.Partition) *Shares {
	return &Shares{part: p, levels: map[*objects.Queue]*Level{}, demands: map[*objects.Queue]resources.Vector{}}
}

// Partition returns the partition.
func (s *Shares) Partition() *objects.Partition { return s.part }

// With does what Of does, as if a hypothetical ask were pending.
func (s *Shares) With(x *objects.Allocation) *Shares {
	of := Of(s.part)
	of.extra = x
	return of
}

// applications returns the applications of a leaf, with that of a hypothetical ask.
func (s *Shares) applications(leaf *objects.Queue) []*objects.Application {
	list := leaf.Applications()
	if s.extra != nil && s.extra.Application().Queue() == leaf {
		if a := s.extra.Application(); !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// Enabled reports whether any queue shares fairly.
func (s *Shares) Enabled() bool {
	if !s.enabledKnown {
		s.enabledKnown, s.enabled = true, false
		for q := range objects.EachQueue(s.part) {
			s.enabled = s.enabled || q.Settings().FairShare
		}
	}
	return s.enabled
}

func (s *Shares) weights() *fairness.Weights {
	if s.priced == nil {
		w := fairness.WeightsOf(s.part)
		s.priced = &w
	}
	return s.priced
}

// Wants names what shares depend on.
func (*Shares) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted |
		1<<objects.AskGroupHeld | 1<<objects.NominationAdded | 1<<objects.NominationRemoved |
		1<<objects.PreemptionMarked | 1<<objects.PreemptionUnmarked | 1<<objects.ApplicationMoved |
		1<<objects.ApplicationRemoved | 1<<objects.MayBeAllocatedChanged | 1<<objects.QueueChanged |
		1<<objects.QueueSettingsChanged | 1<<objects.QueueTreeChanged | 1<<objects.QuotasChanged |
		1<<objects.CapacityChanged | 1<<objects.ConfigurationChanged | 1<<objects.Rebuilding | 1<<objects.ResourceAdded |
		1<<objects.AllocationResized
}

// On implements objects.Consumer.
func (s *Shares) On(c *objects.Change) {
	switch c.Kind {
	case objects.NominationAdded, objects.NominationRemoved, objects.PreemptionMarked, objects.PreemptionUnmarked:
		s.refresh(c.Ask.Application())
		return
	}
	clear(s.levels)
	switch c.Kind {
	case objects.QueueTreeChanged:
	case objects.AskAdded, objects.AskRemoved, objects.AllocationPosted, objects.AllocationUnposted,
		objects.AllocationResized:
		s.forget(c.Ask.Application().Queue())
	case objects.AskGroupHeld:
		s.forget(c.Group.Application().Queue())
	case objects.QueueChanged, objects.QuotasChanged:
		s.forget(c.Queue)
	case objects.QueueSettingsChanged:
		s.forget(c.Queue)
		if c.Queue.Settings().FairShare {
			s.enabled, s.enabledKnown = true, true
		}
	case objects.ConfigurationChanged:
		s.forgetAll()
		s.enabledKnown = false
	default:
		s.forgetAll()
	}
}

// refresh updates what the side of an application holds below root: a preemption changes nobody's share there, and
// there may be many sides. Totals of queues below root follow what others hold.
func (s *Shares) refresh(a *objects.Application) {
	if len(s.levels) == 0 {
		return
	}
	root := s.levels[s.part.Root()]
	clear(s.levels)
	if root != nil && !root.queue.Leaf() {
		side := root.SideOf(a)
		child, _ := s.part.Queue(root.queue.Path().Child(side.Name))
		side.held = child.Quota().Planned()
		s.levels[root.queue] = root
	}
}

// forget drops what q and the queues above it could use.
func (s *Shares) forget(q *objects.Queue) {
	for ; q != nil && len(s.demands) > 0; q = q.Parent() {
		delete(s.demands, q)
	}
}

func (s *Shares) forgetAll() {
	clear(s.demands)
	s.largestKnown, s.priced = false, nil
}
