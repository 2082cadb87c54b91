package configs

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// selectorDraft finds asks by their priority class.
type selectorDraft struct {
	at
	operator limits.Operator
	classes  []word
	broken   bool   // it could not be read, so rules about it stay silent
	text     string // of what is built; made by the check, unless it is broken
}

// classQuotaDraft is a class quota of a queue.
type classQuotaDraft struct {
	at
	name          word
	match         *selectorDraft // nil: it is missing
	users, groups []word
	hard          quantities
}

// classQuotas reads the class quotas of a queue.
func (r *reader) classQuotas(q *queueDraft, n *yaml.Node) []*classQuotaDraft {
	var out []*classQuotaDraft
	for _, x := range r.mappings(q, "classquotas", n) {
		fields := r.fields(q, "a class quota", x, &classQuotaMapping)
		d := &classQuotaDraft{at: place(x), name: word{place(x), ""}}
		if name := fields["name"]; name != nil {
			d.name = word{place(name), r.text(q, "name", name)}
		}
		if match := fields["match"]; !isNull(match) {
			d.match = r.classSelector(q, "match", match)
		}
		d.users = r.words(q, "users", fields["users"])
		d.groups = r.words(q, "groups", fields["groups"])
		d.hard = r.quantities(q, "hard", fields["hard"], "quantity")
		out = append(out, d)
	}
	return out
}

// selectors reads which asks a class quota must cover.
func (r *reader) selectors(p *partitionDraft, n *yaml.Node) []*selectorDraft {
	var out []*selectorDraft
	for _, x := range r.mappings(p, "classesneedingquota", n) {
		out = append(out, r.classSelector(p, "an element of classesneedingquota", x))
	}
	return out
}

// classSelector reads an operator and its classes.
func (r *reader) classSelector(o owner, what string, n *yaml.Node) *selectorDraft {
	before := r.found[Error]
	fields := r.fields(o, what, n, &classSelectorMapping)
	d := &selectorDraft{at: place(n)}
	d.classes = r.words(o, "classes", fields["classes"])
	operator := r.text(o, "operator", fields["operator"])
	var known bool
	switch d.operator, known = limits.ParseOperator(operator); {
	case known || r.found[Error] > before:
	case operator == "":
		r.add(o, d.at, "classquota-operator", `key "operator" is missing in `+what, operatorHint)
	default:
		hint := didYouMean(operator, classOperators())
		if hint == "" {
			hint = operatorHint
		}
		r.add(o, place(fields["operator"]), "classquota-operator", fmt.Sprintf("unknown operator %s", quote(operator)), hint)
	}
	d.broken = r.found[Error] > before
	return d
}

const operatorHint = "it is In, NotIn, Exists or DoesNotExist"
