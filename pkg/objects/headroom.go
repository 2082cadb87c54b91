package objects

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Headroom is how much more q may allocate, for display (QUO-11).
func (p *Partition) Headroom(q *Queue) resources.Limit { return q.quota.Headroom(p.names) }
