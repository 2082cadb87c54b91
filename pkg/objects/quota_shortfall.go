package objects

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaShortfalls are the constraints that block x even after all expected releases, when the
// other nominees of at least its priority are placed: queues first, then limits. None: nothing blocks x.
func (p *Partition) QuotaShortfalls(x *Allocation) []quota.Shortfall {
	return x.app.Constraints().Shortfalls(x.shape.Vector(), p.marks.outlook(x))
}

// outlook is what will change before x is placed. Nominees of lower priority may be Replaced by x (PRE-76).
func (m *marks) outlook(x *Allocation) quota.Outlook {
	nominees := func(outranked bool) iter.Seq2[*quota.Application, resources.Vector] {
		return func(yield func(*quota.Application, resources.Vector) bool) {
			for _, y := range m.nominees {
				if (y == x || y.ask.Priority < x.ask.Priority) == outranked && !yield(&y.app.quota, y.shape.Vector()) {
					return
				}
			}
		}
	}
	return quota.Outlook{
		ExpectedReleases: func(yield func(*quota.Application, resources.Vector) bool) {
			for y, mark := range m.preempting {
				if !mark.overdue && !yield(&y.app.quota, y.shape.Vector()) {
					return
				}
			}
		},
		Nominees: nominees(false), OutrankedNominees: nominees(true),
	}
}
