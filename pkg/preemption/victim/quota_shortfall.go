package victim

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaShortfalls returns the constraints that block x even after all expected releases, when the other nominees of at
// least its priority are placed: queues first, then limits. None: nothing blocks x. Nominees of lower priority may be
// replaced by x (PRE-76).
func QuotaShortfalls(p *objects.Partition, x *objects.Allocation) []quota.Shortfall {
	nominees := func(outranked bool) iter.Seq2[*quota.Application, resources.Vector] {
		return func(yield func(*quota.Application, resources.Vector) bool) {
			for _, y := range p.Nominees() {
				if (y == x || y.Ask().Priority < x.Ask().Priority) == outranked &&
					!yield(y.Application().Quota(), y.Shape().Vector()) {
					return
				}
			}
		}
	}
	return x.Application().Constraints().Shortfalls(x.Shape().Vector(), quota.Outlook{
		ExpectedReleases: func(yield func(*quota.Application, resources.Vector) bool) {
			for y := range p.EachPreempting {
				if _, overdue := p.PreemptingSince(y); !overdue && !yield(y.Application().Quota(), y.Shape().Vector()) {
					return
				}
			}
		},
		Nominees: nominees(false), OutrankedNominees: nominees(true),
	})
}
