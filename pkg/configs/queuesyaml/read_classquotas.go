package queuesyaml

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// classQuotas reads the class quotas of a queue.
func (r *reader) classQuotas(q *validation.Queue, n *yaml.Node) []limits.ClassQuota {
	o := q.Subject
	return parts(r, o, "classquotas", n, func(d *limits.ClassQuota, x *yaml.Node) {
		fields := r.fields(o, "a class quota", x, &classQuotaMapping)
		d.Name = r.text(o, "name", fields["name"])
		if match := fields["match"]; !isNull(match) {
			r.Record(&d.Match, match)
			r.classSelector(&d.Match, o, "match", match)
		}
		d.Users, d.Groups = r.texts(o, "users", fields["users"]), r.texts(o, "groups", fields["groups"])
		r.limit(&d.Hard, o, "hard", fields["hard"], "quantity")
	})
}

// classSelector reads a selector: an operator and its classes.
func (r *reader) classSelector(s *limits.Selector, o *validation.Subject, what string, n *yaml.Node) {
	before := r.ErrorCount()
	fields := r.fields(o, what, n, &classSelectorMapping)
	s.Classes = r.texts(o, "classes", fields["classes"])
	operator := r.text(o, "operator", fields["operator"])
	var known bool
	switch s.Operator, known = limits.ParseOperator(operator); {
	case known || r.ErrorCount() > before:
	case operator == "":
		r.Add(o, positionOf(n), "classquota-operator", `key "operator" is missing in `+what, validation.OperatorHint)
	default:
		r.Add(o, positionOf(fields["operator"]), "classquota-operator",
			fmt.Sprintf("unknown operator %s", validation.Quote(operator)),
			cmp.Or(validation.DidYouMean(operator, wordsOf(limits.Operators())), validation.OperatorHint))
	}
	if r.ErrorCount() > before {
		r.MarkMisread(s)
	}
}
