package queuesyaml

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// children reads a list of queues, without those beyond a bound.
func (r *reader) children(parent *validation.QueueDraft, list []*yaml.Node) []*validation.QueueDraft {
	out := make([]*validation.QueueDraft, 0, min(len(list), r.options.MaxQueues-r.queueCount+1))
	for _, n := range list {
		if q := r.queue(parent.Partition, parent, n); q != nil {
			out = append(out, q)
		}
		if r.queueCount > r.options.MaxQueues {
			break // reported; the queues beyond the bound are not read
		}
	}
	return out
}

// queue reads a queue and the queues below it, or returns nil if it is beyond a bound (CFG-15).
func (r *reader) queue(p *validation.PartitionDraft, parent *validation.QueueDraft,
	n *yaml.Node) *validation.QueueDraft {
	q := &validation.QueueDraft{Position: positionOf(n), Partition: p, ParentQueue: parent, Level: 1,
		Name: strings.ToLower(peek(n, "name"))}
	if parent != nil {
		q.Level = parent.Level + 1
	}
	if !r.countQueue(q) {
		return nil
	}
	fields := r.fields(q, "a queue", n, &queueMapping)
	if name := fields["name"]; name != nil {
		q.Position = positionOf(name)
		r.text(q, "name", name)
	}
	if !r.misreadMappings[n] || q.Name != "" { // otherwise the name may be the part that was not understood
		r.checkQueueName(q)
	}
	q.ParentFlag = r.flag(q, "parent", fields["parent"], false)
	q.Max, q.Guaranteed = r.resources(q, "resources", fields["resources"], "quantity")
	if parent == nil {
		r.dropRootResources(q)
	}
	q.MaxApplications = r.count(q, "maxapplications", fields["maxapplications"])
	q.Settings = r.settings(q, "properties", fields["properties"])
	q.AdminACL = r.acl(q, "adminacl", fields["adminacl"])
	q.SubmitACL = r.acl(q, "submitacl", fields["submitacl"])
	q.ChildTemplate = r.template(q, fields["childtemplate"])
	q.Limits = r.limits(q, fields["limits"])
	q.ClassQuotas = r.classQuotas(q, fields["classquotas"])
	q.Children = r.children(q, r.mappings(q, "queues", fields["queues"]))
	return q
}

func (r *reader) countQueue(q *validation.QueueDraft) bool {
	if q.Level > r.options.MaxDepth {
		r.Add(q.ParentQueue, q.Position, "bound-depth", fmt.Sprintf("queues are nested deeper than max-depth (%d levels)",
			r.options.MaxDepth), "")
		return false
	}
	r.queueCount++
	if r.queueCount > r.options.MaxQueues {
		if r.queueCount == r.options.MaxQueues+1 {
			r.Add(q, q.Position, "bound-queues", fmt.Sprintf("there are more than max-queues (%d) queues",
				r.options.MaxQueues), "")
		}
		return false
	}
	return true
}

// checkQueueName applies V5 (CFG-36). The name is in lower case (CFG-35).
func (r *reader) checkQueueName(q *validation.QueueDraft) {
	switch {
	case q.Name == "":
		r.Add(q, q.Position, "V5", "the queue has no name", validation.QueueNameHint)
	case !configs.IsQueueName(q.Name):
		r.Add(q, q.Position, "V5", "queue name "+validation.Quote(q.Name)+" is not legal", validation.QueueNameHint)
	}
}

// dropRootResources applies V3 (CFG-45): the max of root is the capacity of the nodes, so an
// empty map is refused too. The quantities are dropped, so that no other rule compares with
// them.
func (r *reader) dropRootResources(root *validation.QueueDraft) {
	for _, x := range []struct {
		key string
		q   *validation.Quantities
	}{{"guaranteed", &root.Guaranteed}, {"max", &root.Max}} {
		if x.q.IsSet {
			r.Add(root, x.q.Position, "V3", "the root queue cannot have "+x.key+" resources",
				"the max of root is the capacity of the nodes; set it on a queue below")
			*x.q = validation.Quantities{}
		}
	}
}

// resources reads a mapping with max and guaranteed.
func (r *reader) resources(o validation.Subject, what string, n *yaml.Node, rule string) (max,
	guaranteed validation.Quantities) {
	fields := r.fields(o, what, n, &resourcesMapping)
	prefix := strings.TrimSuffix(what, "resources") // empty, or "childtemplate "
	return r.quantities(o, prefix+"max", fields["max"], rule),
		r.quantities(o, prefix+"guaranteed", fields["guaranteed"], rule)
}

// maxMappingResources is how many resources of one mapping are read: one more than a partition may
// name, so that checkResourceNames refuses a longer mapping.
const maxMappingResources = resources.MaxNames + 1

// quantities reads a mapping of resources to quantities. A malformed quantity is a problem of
// the given rule (CFG-39).
func (r *reader) quantities(o validation.Subject, what string, n *yaml.Node, rule string) validation.Quantities {
	if isNull(n) {
		return validation.Quantities{}
	}
	q := validation.Quantities{Position: positionOf(n), IsSet: true, N: map[string]resources.Quantity{},
		Positions: map[string]validation.Position{}, Texts: map[string]string{}}
	for _, p := range r.pairsUpTo(maxMappingResources, o, what, n) {
		q.Positions[p.name] = positionOf(p.value)
		text := r.text(o, fmt.Sprintf("%s %s", what, validation.Quote(p.name)), p.value)
		q.Texts[p.name] = text
		amount, err := resources.Parse(p.name, text)
		switch {
		case err == nil:
			q.N[p.name] = amount
			r.spellings.Record(p.name, amount, text)
			r.resourceUses.Record(r.currentPartition, o, what, p.name, positionOf(p.key), positionOf(p.value), amount, text)
			continue
		case isText(p.value):
			r.Add(o, positionOf(p.value), rule,
				fmt.Sprintf("%s %s: %s", what, validation.Quote(p.name), quantityProblem(text, err)),
				quantityHint(p.name, text, err))
		}
		q.Broken = true
	}
	return q
}

// quantityProblem is the message for a malformed quantity. It shortens a long text.
func quantityProblem(text string, err error) string {
	for _, reason := range []error{resources.ErrSuffix, resources.ErrOverflow} {
		if errors.Is(err, reason) {
			return fmt.Sprintf("%s in %s", reason, validation.Quote(text))
		}
	}
	if strings.TrimSpace(text) == "" {
		return "the quantity is missing"
	}
	return fmt.Sprintf("%s %s", resources.ErrNotAQuantity, validation.Quote(text))
}

func quantityHint(resource, text string, err error) string {
	switch {
	case probableQuantity(resource, text) != "":
		return "did you mean " + probableQuantity(resource, text) + "?"
	case errors.Is(err, resources.ErrOverflow):
		return "the largest is 2^63-1, for vcore in thousandths"
	case errors.Is(err, resources.ErrSuffix) && strings.HasSuffix(strings.TrimSpace(text), "m"):
		return "only vcore has thousandths; did you mean M or Mi?"
	case resource == resources.VCore:
		return "whole cores such as 2, or thousandths such as 500m"
	}
	return "a whole number, perhaps with one of k M G T P E Ki Mi Gi Ti Pi Ei"
}

// settings reads properties, at most one more than a queue may have (CFG-16).
func (r *reader) settings(o validation.Subject, what string, n *yaml.Node) []validation.Setting {
	var out []validation.Setting
	for _, p := range r.pairsUpTo(validation.MaxProperties+1, o, what, n) {
		value := r.text(o, fmt.Sprintf("%s %s", what, validation.Quote(p.name)), p.value)
		out = append(out, validation.Setting{
			Name: validation.TokenAt(positionOf(p.key), p.name), Value: validation.TokenAt(positionOf(p.value), value),
		})
	}
	return out
}

func (r *reader) acl(q *validation.QueueDraft, key string, n *yaml.Node) security.ACL {
	text := r.text(q, key, n)
	acl, illegal, err := security.ParseACL(text)
	q.ACLUnknown = q.ACLUnknown || err != nil
	switch {
	case errors.Is(err, security.ErrTooManyLists):
		r.Add(q, positionOf(n), "V7", fmt.Sprintf("%s %s has more than two lists", key, validation.Quote(text)),
			withoutSpaces(text, "users, one space, groups; the names of a list are separated by commas without spaces"))
	case errors.Is(err, security.ErrLeadingSpace):
		r.Add(q, positionOf(n), "L1", fmt.Sprintf("%s %s begins with a space but has two lists", key, validation.Quote(text)),
			"drop the space; it stands for an empty list of users")
	}
	for _, name := range illegal {
		if r.LimitReached("acl-name") {
			continue
		}
		message, hint := fmt.Sprintf("%s has the illegal name %s, which is ignored", key, validation.Quote(name)),
			validation.UserNameHint
		switch {
		case name == "":
			message = key + " has an empty name in a list, which is ignored"
			hint = withoutSpaces(text, "separate names by commas without spaces; a space ends the users and begins the groups")
		case name == "*":
			hint = "* must be the only name of its list"
		case security.IsUserName(name):
			hint = validation.GroupNameHint
		}
		r.Add(q, positionOf(n), "acl-name", message, hint)
	}
	return acl
}

// withoutSpaces is a hint at the access list without its spaces after commas, each of which ends a
// list. If there are none, or the result is not legal, it is the given hint.
func withoutSpaces(text, hint string) string {
	if !strings.Contains(text, ", ") || len(text) > 200 {
		return hint
	}
	joined := strings.ReplaceAll(text, ", ", ",")
	if _, _, err := security.ParseACL(joined); err != nil {
		return hint
	}
	return fmt.Sprintf("a space ends the users and begins the groups; did you mean %q?", joined)
}

// template reads a child template, or returns nil if it is empty (QUE-22).
func (r *reader) template(q *validation.QueueDraft, n *yaml.Node) *validation.ChildTemplateDraft {
	if isNull(n) {
		return nil
	}
	fields := r.fields(q, "childtemplate", n, &templateMapping)
	t := &validation.ChildTemplateDraft{Position: positionOf(n)}
	t.MaxApplications = r.count(q, "childtemplate maxapplications", fields["maxapplications"])
	written := r.settings(q, "childtemplate properties", fields["properties"])
	t.TooManyProperties = len(written) > validation.MaxProperties
	for _, s := range written {
		if s.Name.Text != "" && s.Value.Text != "" {
			t.Settings = append(t.Settings, s)
		}
	}
	t.Max, t.Guaranteed = r.resources(q, "childtemplate resources", fields["resources"], "L2")
	if t.IsEmpty() {
		return nil
	}
	return t
}
