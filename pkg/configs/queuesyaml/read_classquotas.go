package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// classSelectorDraft is a selector of asks by their priority class.
type classSelectorDraft struct {
	position
	operator limits.Operator
	classes  []token
	broken   bool   // it could not be read, so rules about it are silent
	text     string // text form of the built selector; set by checkSelector, unless it is broken
}

// classQuotaDraft is a class quota of a queue.
type classQuotaDraft struct {
	position
	name          token
	match         *classSelectorDraft // nil: the key is missing
	users, groups []token
	hard          quantities
}

// classQuotas reads the class quotas of a queue.
func (r *reader) classQuotas(q *queueDraft, n *yaml.Node) []*classQuotaDraft {
	var out []*classQuotaDraft
	for _, x := range r.mappings(q, "classquotas", n) {
		fields := r.fields(q, "a class quota", x, &classQuotaMapping)
		d := &classQuotaDraft{position: positionOf(x), name: token{positionOf(x), ""}}
		if name := fields["name"]; name != nil {
			d.name = token{positionOf(name), r.text(q, "name", name)}
		}
		if match := fields["match"]; !isNull(match) {
			d.match = r.classSelector(q, "match", match)
		}
		d.users = r.tokens(q, "users", fields["users"])
		d.groups = r.tokens(q, "groups", fields["groups"])
		d.hard = r.quantities(q, "hard", fields["hard"], "quantity")
		out = append(out, d)
	}
	return out
}

// classSelectors reads classesneedingquota, the selectors of the asks that need a class quota (QUO-37).
func (r *reader) classSelectors(p *partitionDraft, n *yaml.Node) []*classSelectorDraft {
	var out []*classSelectorDraft
	for _, x := range r.mappings(p, "classesneedingquota", n) {
		out = append(out, r.classSelector(p, "an element of classesneedingquota", x))
	}
	return out
}

// classSelector reads a selector: an operator and its classes.
func (r *reader) classSelector(o subject, what string, n *yaml.Node) *classSelectorDraft {
	before := r.counts[Error]
	fields := r.fields(o, what, n, &classSelectorMapping)
	d := &classSelectorDraft{position: positionOf(n)}
	d.classes = r.tokens(o, "classes", fields["classes"])
	operator := r.text(o, "operator", fields["operator"])
	var known bool
	switch d.operator, known = limits.ParseOperator(operator); {
	case known || r.counts[Error] > before:
	case operator == "":
		r.add(o, d.position, "classquota-operator", `key "operator" is missing in `+what, operatorHint)
	default:
		hint := suggestion(operator, classOperators())
		if hint == "" {
			hint = operatorHint
		}
		r.add(o, positionOf(fields["operator"]), "classquota-operator", fmt.Sprintf("unknown operator %s", quote(operator)), hint)
	}
	d.broken = r.counts[Error] > before
	return d
}

const operatorHint = "it is In, NotIn, Exists or DoesNotExist"
