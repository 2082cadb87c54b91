package queuesyaml

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// children reads a list of queues, without those beyond a bound. The addresses of the others do not change.
func (r *reader) children(above *validation.Queue, list []*yaml.Node) {
	if len(list) == 0 {
		return
	}
	queues := make([]configs.Queue, 0, min(len(list), r.options.MaxQueues-r.queueCount+1))
	for _, n := range list {
		queues = append(queues, configs.Queue{})
		last := len(queues) - 1
		if q := r.queue(&queues[last], above.Partition, above, n); q != nil {
			above.Children = append(above.Children, q)
		} else {
			queues = queues[:last]
		}
		if r.queueCount > r.options.MaxQueues {
			break // reported; the queues beyond the bound are not read
		}
	}
	above.Queue.Children = queues
}

// queue reads a queue and the queues below it, or returns nil if it is beyond a bound (CFG-15).
func (r *reader) queue(to *configs.Queue, p *validation.Partition, above *validation.Queue,
	n *yaml.Node) *validation.Queue {
	to.Name = strings.ToLower(peek(n, "name"))
	q := validation.NewQueue(to, p, above)
	if !r.countQueue(q, positionOf(n)) {
		return nil
	}
	r.Record(to, n)
	o := q.Subject
	fields := r.fields(o, "a queue", n, &queueMapping)
	r.text(o, "name", fields["name"])
	if !r.misreadMappings[n] || q.Name != "" { // otherwise the name may be the part that was not understood
		r.checkQueueName(q)
	}
	q.Parent = r.flag(o, "parent", fields["parent"], false)
	r.resources(&q.Max, &q.Guaranteed, o, "resources", fields["resources"], "quantity")
	if above == nil {
		r.dropRootResources(q)
	}
	r.count(&q.MaxApplications, o, "maxapplications", fields["maxapplications"])
	q.Properties = r.properties(o, "properties", fields["properties"])
	q.AdminACL = r.acl(q, "adminacl", fields["adminacl"])
	q.SubmitACL = r.acl(q, "submitacl", fields["submitacl"])
	q.ChildTemplate = r.template(q, fields["childtemplate"])
	q.Limits = r.limits(q, fields["limits"])
	q.ClassQuotas = r.classQuotas(q, fields["classquotas"])
	r.children(q, r.mappings(o, "queues", fields["queues"]))
	return q
}

// countQueue counts a queue, and reports whether it is within the bounds.
func (r *reader) countQueue(q *validation.Queue, at validation.Position) bool {
	if q.Level > r.options.MaxDepth {
		r.Add(q.Above.Subject, at, "bound-depth", fmt.Sprintf("queues are nested deeper than max-depth (%d levels)",
			r.options.MaxDepth), "")
		return false
	}
	r.queueCount++
	if r.queueCount > r.options.MaxQueues {
		if r.queueCount == r.options.MaxQueues+1 {
			r.Add(q.Subject, at, "bound-queues", fmt.Sprintf("there are more than max-queues (%d) queues",
				r.options.MaxQueues), "")
		}
		return false
	}
	return true
}

// checkQueueName applies V5 (CFG-36). The name is in lower case (CFG-35).
func (r *reader) checkQueueName(q *validation.Queue) {
	switch {
	case q.Name == "":
		r.Add(q.Subject, r.At(q.Queue), "V5", "the queue has no name", validation.QueueNameHint)
	case !configs.IsQueueName(q.Name):
		r.Add(q.Subject, r.At(q.Queue), "V5", "queue name "+validation.Quote(q.Name)+" is not legal",
			validation.QueueNameHint)
	}
}

// dropRootResources applies V3 (CFG-45): the max of root is the capacity of the nodes, so an
// empty map is refused too. The quantities are dropped, so that no other rule compares with
// them.
func (r *reader) dropRootResources(root *validation.Queue) {
	for _, key := range []string{"guaranteed", "max"} {
		if n := r.Find(root.Queue, "resources", key); !isNull(n) {
			r.Add(root.Subject, positionOf(n), "V3", "the root queue cannot have "+key+" resources",
				"the max of root is the capacity of the nodes; set it on a queue below")
		}
	}
	root.Max, root.Guaranteed = resources.Limit{}, resources.Guarantee{}
}

// resources reads a mapping with max and guaranteed.
func (r *reader) resources(max *resources.Limit, guaranteed *resources.Guarantee, o *validation.Subject, what string,
	n *yaml.Node, rule string) {
	fields := r.fields(o, what, n, &resourcesMapping)
	prefix := strings.TrimSuffix(what, "resources") // empty, or "childtemplate "
	if all, percents := r.quotas(max, o, prefix+"max", fields["max"], rule, true); len(all)+len(percents) > 0 {
		*max = resources.LimitFromMap(all).WithPercents(percents)
	}
	all, percents := r.quotas(guaranteed, o, prefix+"guaranteed", fields["guaranteed"], rule, true)
	if len(all)+len(percents) > 0 {
		*guaranteed = resources.GuaranteeFromMap(all).WithPercents(percents)
	}
}

// limit reads a mapping of resources to quantities that bounds them. A missing or empty one is no limit.
func (r *reader) limit(to *resources.Limit, o *validation.Subject, what string, n *yaml.Node, rule string) {
	if all, _ := r.quotas(to, o, what, n, rule, false); len(all) > 0 {
		*to = resources.LimitFromMap(all)
	}
}

// maxMappingResources bounds the resources of one mapping that are read: one more than a partition may
// name, so that a longer mapping is refused.
const maxMappingResources = resources.MaxNames + 1

// quotas reads a mapping of resources to quantities or, if mayBePercents, percents (QUO-63). A malformed one is a
// problem of the given rule (CFG-39). to is what they are for, which is misread then.
func (r *reader) quotas(to any, o *validation.Subject, what string, n *yaml.Node, rule string,
	mayBePercents bool) (all map[string]resources.Quantity, percents map[string]resources.Percent) {
	all = map[string]resources.Quantity{}
	for _, p := range r.pairsUpTo(maxMappingResources, o, what, n) {
		text := r.text(o, fmt.Sprintf("%s %s", what, validation.Quote(p.name)), p.value)
		if mayBePercents && resources.IsPercent(text) {
			if part, err := resources.ParsePercent(text); err == nil {
				if percents == nil {
					percents = map[string]resources.Percent{}
				}
				percents[p.name] = part
				r.RecordPercent(r.currentPartition, o, what, p.name, positionOf(p.key))
				continue
			}
		}
		amount, err := resources.Parse(p.name, text)
		switch {
		case err == nil:
			all[p.name] = amount
			r.spellings.Record(p.name, amount, text)
			r.RecordQuantity(r.currentPartition, o, what, p.name, positionOf(p.key), positionOf(p.value), amount, text)
			continue
		case isText(p.value):
			r.Add(o, positionOf(p.value), rule,
				fmt.Sprintf("%s %s: %s", what, validation.Quote(p.name), quantityProblem(text, err)),
				quantityHint(p.name, text, err, mayBePercents))
		}
		r.MarkMisread(to)
	}
	return all, percents
}

// quantityProblem is the message for a malformed quantity. It shortens a long text.
func quantityProblem(text string, err error) string {
	if resources.IsPercent(text) {
		return fmt.Sprintf("%s %s", resources.ErrPercent, validation.Quote(text))
	}
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

func quantityHint(resource, text string, err error, percents bool) string {
	switch {
	case resources.IsPercent(text) && !percents:
		return "only max and guaranteed of queues and of child templates may be percents; write a quantity"
	case resources.IsPercent(text):
		return "above 0% and at most 100%, with at most two decimals, such as 40% or 12.5%"
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

// properties reads properties, at most one more than a queue may have (CFG-16).
func (r *reader) properties(o *validation.Subject, what string, n *yaml.Node) map[string]string {
	pairs := r.pairsUpTo(validation.MaxProperties+1, o, what, n)
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p.name] = r.text(o, fmt.Sprintf("%s %s", what, validation.Quote(p.name)), p.value)
	}
	return out
}

func (r *reader) acl(q *validation.Queue, key string, n *yaml.Node) security.ACL {
	text := r.text(q.Subject, key, n)
	acl, illegal, err := security.ParseACL(text)
	if err != nil {
		r.MarkMisread(&q.SubmitACL)
	}
	switch {
	case errors.Is(err, security.ErrTooManyLists):
		r.Add(q.Subject, positionOf(n), "V7", fmt.Sprintf("%s %s has more than two lists", key, validation.Quote(text)),
			withoutSpaces(text, "users, one space, groups; the names of a list are separated by commas without spaces"))
	case errors.Is(err, security.ErrLeadingSpace):
		r.Add(q.Subject, positionOf(n), "L1",
			fmt.Sprintf("%s %s begins with a space but has two lists", key, validation.Quote(text)),
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
		r.Add(q.Subject, positionOf(n), "acl-name", message, hint)
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
func (r *reader) template(q *validation.Queue, n *yaml.Node) *configs.ChildTemplate {
	if isNull(n) {
		return nil
	}
	fields, t := r.fields(q.Subject, "childtemplate", n, &templateMapping), &configs.ChildTemplate{}
	r.count(&t.MaxApplications, q.Subject, "childtemplate maxapplications", fields["maxapplications"])
	t.Properties = r.properties(q.Subject, "childtemplate properties", fields["properties"])
	if len(t.Properties) > validation.MaxProperties {
		r.Add(q.Subject, positionOf(n), "bound-properties",
			fmt.Sprintf("the childtemplate has more than %d properties", validation.MaxProperties), "")
	}
	maps.DeleteFunc(t.Properties, func(name, value string) bool { return name == "" || value == "" })
	r.resources(&t.Max, &t.Guaranteed, q.Subject, "childtemplate resources", fields["resources"], "L2")
	if t.MaxApplications == 0 && len(t.Properties) == 0 && t.Max.IsUnlimited() && t.Guaranteed.IsEmpty() {
		return nil
	}
	return t
}
