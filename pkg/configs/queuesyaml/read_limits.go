package queuesyaml

import (
	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// limits reads the limits of a queue (CFG-31). Those of a partition are read for its root queue (V10).
func (r *reader) limits(q *validation.Queue, n *yaml.Node) []limits.Limit {
	o := q.Subject
	return parts(r, o, "limits", n, func(l *limits.Limit, x *yaml.Node) {
		before := r.ErrorCount()
		fields := r.fields(o, "a limit", x, &limitMapping)
		l.Description = r.text(o, "limit", fields["limit"])
		l.Users, l.Groups = r.texts(o, "users", fields["users"]), r.texts(o, "groups", fields["groups"])
		r.limit(&l.MaxResources, o, "maxresources", fields["maxresources"], "V16")
		r.count(&l.MaxApplications, o, "maxapplications", fields["maxapplications"])
		if r.ErrorCount() > before {
			r.MarkMisread(l)
		}
	})
}
