package queuesyaml

import (
	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// limits reads the limits of a queue (CFG-31). Those of a partition are read for its root queue (V10).
func (r *reader) limits(q *validation.QueueDraft, n *yaml.Node) []*validation.LimitDraft {
	var out []*validation.LimitDraft
	for _, x := range r.mappings(q, "limits", n) {
		before := r.ErrorCount()
		fields := r.fields(q, "a limit", x, &limitMapping)
		d := &validation.LimitDraft{
			Position:        positionOf(x),
			Description:     r.text(q, "limit", fields["limit"]),
			Users:           r.tokens(q, "users", fields["users"]),
			Groups:          r.tokens(q, "groups", fields["groups"]),
			Max:             r.quantities(q, "maxresources", fields["maxresources"], "V16"),
			MaxApplications: r.count(q, "maxapplications", fields["maxapplications"]),
		}
		d.Broken = r.ErrorCount() > before
		out = append(out, d)
	}
	return out
}
