package queuesyaml

import "gopkg.in/yaml.v3"

// limits reads the limits of a queue (CFG-31). Those of a partition are read for its root queue (V10).
func (r *reader) limits(q *queueDraft, n *yaml.Node) []*limitDraft {
	var out []*limitDraft
	for _, x := range r.mappings(q, "limits", n) {
		before := r.counts[Error]
		fields := r.fields(q, "a limit", x, &limitMapping)
		d := &limitDraft{
			position:        positionOf(x),
			description:     r.text(q, "limit", fields["limit"]),
			users:           r.tokens(q, "users", fields["users"]),
			groups:          r.tokens(q, "groups", fields["groups"]),
			max:             r.quantities(q, "maxresources", fields["maxresources"], "V16"),
			maxApplications: r.count(q, "maxapplications", fields["maxapplications"]),
		}
		d.broken = r.counts[Error] > before
		out = append(out, d)
	}
	return out
}
