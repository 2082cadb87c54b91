package configs

import "gopkg.in/yaml.v3"

// limits reads the limits of a queue; those of a partition are root's (V10).
func (r *reader) limits(q *queueDraft, n *yaml.Node) []*limitDraft {
	var out []*limitDraft
	for _, x := range r.mappings(q, "limits", n) {
		before := r.found[Error]
		fields := r.fields(q, "a limit", x, &limitMapping)
		d := &limitDraft{
			at:              place(x),
			description:     r.text(q, "limit", fields["limit"]),
			users:           r.words(q, "users", fields["users"]),
			groups:          r.words(q, "groups", fields["groups"]),
			max:             r.quantities(q, "maxresources", fields["maxresources"], "V16"),
			maxApplications: r.count(q, "maxapplications", fields["maxapplications"]),
		}
		d.broken = r.found[Error] > before
		out = append(out, d)
	}
	return out
}
