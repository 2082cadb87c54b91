package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// classQuotas reads the class quotas of a queue.
func (r *reader) classQuotas(q *validation.QueueDraft, n *yaml.Node) []*validation.ClassQuotaDraft {
	var out []*validation.ClassQuotaDraft
	for _, x := range r.mappings(q, "classquotas", n) {
		fields := r.fields(q, "a class quota", x, &classQuotaMapping)
		d := &validation.ClassQuotaDraft{Position: positionOf(x), Name: validation.TokenAt(positionOf(x), "")}
		if name := fields["name"]; name != nil {
			d.Name = validation.TokenAt(positionOf(name), r.text(q, "name", name))
		}
		if match := fields["match"]; !isNull(match) {
			d.Match = r.classSelector(q, "match", match)
		}
		d.Users = r.tokens(q, "users", fields["users"])
		d.Groups = r.tokens(q, "groups", fields["groups"])
		d.Hard = r.quantities(q, "hard", fields["hard"], "quantity")
		out = append(out, d)
	}
	return out
}

// classSelectors reads classesneedingquota, the selectors of the asks that need a class quota (QUO-37).
func (r *reader) classSelectors(p *validation.PartitionDraft, n *yaml.Node) []*validation.ClassSelectorDraft {
	var out []*validation.ClassSelectorDraft
	for _, x := range r.mappings(p, "classesneedingquota", n) {
		out = append(out, r.classSelector(p, "an element of classesneedingquota", x))
	}
	return out
}

// classSelector reads a selector: an operator and its classes.
func (r *reader) classSelector(o validation.Subject, what string, n *yaml.Node) *validation.ClassSelectorDraft {
	before := r.ErrorCount()
	fields := r.fields(o, what, n, &classSelectorMapping)
	d := &validation.ClassSelectorDraft{Position: positionOf(n)}
	d.Classes = r.tokens(o, "classes", fields["classes"])
	operator := r.text(o, "operator", fields["operator"])
	var known bool
	switch d.Operator, known = limits.ParseOperator(operator); {
	case known || r.ErrorCount() > before:
	case operator == "":
		r.Add(o, d.Position, "classquota-operator", `key "operator" is missing in `+what, validation.OperatorHint)
	default:
		hint := validation.DidYouMean(operator, wordsOf(limits.Operators()))
		if hint == "" {
			hint = validation.OperatorHint
		}
		r.Add(o, positionOf(fields["operator"]), "classquota-operator",
			fmt.Sprintf("unknown operator %s", validation.Quote(operator)), hint)
	}
	d.Broken = r.ErrorCount() > before
	return d
}
