package queuesyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
)

// read decodes a text into drafts.
func (r *reader) read(text []byte) (d validation.DocumentDraft) {
	if !r.checkTextSize(text) {
		return d
	}
	top := r.openDocument(text)
	d.Empty = isNull(top)
	fields := r.fields(nil, "the document", top, &documentMapping)
	r.documentMisread = r.misreadMappings[top]
	r.text(nil, "checksum", fields["checksum"])
	_, d.HasClasses = fields[PriorityClasses.key]
	_, d.HasBudgets = fields[budgetsKey]
	d.Classes = PriorityClasses.readList(r, fields[PriorityClasses.key])
	d.Budgets = DisruptionBudgets.readList(r, fields[budgetsKey])
	for _, n := range r.mappings(nil, "partitions", fields["partitions"]) {
		d.Partitions = append(d.Partitions, r.partition(n))
		if r.queueCount > r.options.MaxQueues {
			break // reported; the partitions beyond the bound are not read
		}
	}
	return d
}

func (r *reader) partition(n *yaml.Node) *validation.PartitionDraft {
	p := &validation.PartitionDraft{Position: positionOf(n), Partition: configs.DefaultPartitionSettings()}
	p.Name = partitionName(peek(n, "name"))
	r.currentPartition = p.Name
	fields := r.fields(p, "a partition", n, &partitionMapping)
	if name := fields["name"]; name != nil {
		p.Position = positionOf(name)
		r.text(p, "name", name)
	}
	p.Root = r.tree(p, fields["queues"], r.documentMisread || r.misreadMappings[n])
	for i, x := range r.mappings(p, "placementrules", fields["placementrules"]) {
		p.PlacementRules = append(p.PlacementRules, r.rule(p, element("placementrules", i), x, 1))
	}
	if l := fields["limits"]; l != nil {
		p.LimitsAt = positionOf(l)
		p.Limits = r.limits(p.Root, l)
	}
	p.PriorityDisabled = r.isDisabled(p, "priority", fields["priority"])
	r.partitionSettings(p, "preemption", fields["preemption"], &preemptionMapping)
	r.partitionSettings(p, "reservation", fields["reservation"], &reservationMapping)
	refusal := r.partitionSettings(p, "noderefusal", fields["noderefusal"], &nodeRefusalMapping)
	r.checkMaxBackoff(p, refusal)
	r.nodeSortPolicy(p, fields["nodesortpolicy"])
	r.userGroupResolver(p, fields["usergroupresolver"])
	p.ClassesNeedingQuota = r.classSelectors(p, fields["classesneedingquota"])
	return p
}

// partitionSettings reads a section of a partition by the table of settings, and returns its values.
func (r *reader) partitionSettings(p *validation.PartitionDraft, section string, n *yaml.Node,
	known *mapping) map[string]*yaml.Node {
	fields := r.fields(p, section, n, known)
	for _, s := range configs.PartitionSettings() {
		n := fields[s.Key]
		if s.Section != section {
			continue
		}
		if s.Key == "maxbackoff" { // its default is never below backoff
			p.NodeRefusal.MaxBackoff = max(p.NodeRefusal.MaxBackoff, p.NodeRefusal.Backoff)
		}
		switch to := s.Field(&p.Partition).(type) {
		case *bool:
			*to = r.flag(p, s.Key, n, *to)
		case *time.Duration:
			*to = r.duration(p, s.Key, n, *to)
			if *to < time.Duration(s.Least) {
				r.wrongType(p, s.Key, n, "a time above 0s, such as 5m")
			}
		case *int:
			c := r.count(p, s.Key, n)
			switch {
			case isNull(n) || !c.OK:
			case c.N < uint64(s.Least) || c.N > uint64(s.Most):
				r.wrongType(p, s.Key, n, fmt.Sprintf("a whole number from %d to %d", s.Least, s.Most))
			default:
				*to = int(c.N)
			}
		}
	}
	return fields
}

// checkMaxBackoff refuses a longest back-off that is below the first one, or too long.
func (r *reader) checkMaxBackoff(p *validation.PartitionDraft, fields map[string]*yaml.Node) {
	s := &p.NodeRefusal
	if s.MaxBackoff >= s.Backoff && s.MaxBackoff <= refusals.LongestBackoff {
		return
	}
	key := "maxbackoff"
	if isNull(fields[key]) {
		key = "backoff"
	}
	r.wrongType(p, key, fields[key], fmt.Sprintf("a time from backoff, which is %v, to %v", s.Backoff,
		refusals.LongestBackoff))
}

// isDisabled reads the word enabled, the default, or disabled.
func (r *reader) isDisabled(p *validation.PartitionDraft, what string, n *yaml.Node) bool {
	if isNull(n) {
		return false
	}
	switch text := textOf(n); {
	case isText(n) && text == "disabled":
		return true
	case !isText(n) || text != "enabled":
		r.wrongType(p, what, n, "enabled or disabled")
	}
	return false
}

// partitionName gives a partition without a name its name, and the default partition
// one spelling.
func partitionName(s string) string {
	if s == "" || strings.EqualFold(s, configs.DefaultPartition) {
		return configs.DefaultPartition
	}
	return s
}

// tree reads the queues of a partition. siblingsMisread is whether another part of the partition
// or of the document could not be understood. A single top queue called root, in any case,
// is the root queue; otherwise a root queue is added above all top queues (V4, L4, CFG-29).
func (r *reader) tree(p *validation.PartitionDraft, n *yaml.Node, siblingsMisread bool) *validation.QueueDraft {
	root := &validation.QueueDraft{Partition: p, Position: p.Position, Name: configs.RootQueue, Level: 1,
		MaxApplications: validation.Count{OK: true}}
	written := n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 1 &&
		strings.ToLower(peek(n.Content[0], "name")) == configs.RootQueue
	if !written && !r.countQueue(root) {
		root.ACLUnknown = true
		return root
	}
	if isNull(n) {
		root.ACLUnknown = true
		if siblingsMisread {
			return root // the queues may be in the part that was not understood
		}
		r.Add(p, p.Position, "V2", `key "queues" is missing`, `write "queues: []" for a partition with only a root queue`)
		return root
	}
	root.ACLUnknown = n.Kind != yaml.SequenceNode
	top := r.mappings(p, "queues", n)
	if written && len(top) == 1 {
		if q := r.queue(p, nil, top[0]); q != nil {
			return q
		}
		return root
	}
	root.Children = r.children(root, top)
	return root
}

func (r *reader) nodeSortPolicy(p *validation.PartitionDraft, n *yaml.Node) {
	if n != nil && n.Kind == yaml.ScalarNode && !isNull(n) {
		r.Add(p, positionOf(n), "yaml-type", "nodesortpolicy must be a mapping, not "+describe(n),
			"write nodesortpolicy: {type: "+n.Value+"}")
		return
	}
	fields := r.fields(p, "nodesortpolicy", n, &nodeSortMapping)
	if t := fields["type"]; t != nil {
		name := r.text(p, "type", t)
		nodes, ok := policies.ParseNodeSort(name)
		if !ok {
			r.Add(p, positionOf(t), "V30", "unknown node sort policy "+validation.Quote(name),
				validation.DidYouMean(name, nodeSortPolicies))
		}
		p.NodeSortPolicy.Sort = nodes
	}
	weights := r.pairsUpTo(maxMappingResources, p, "resourceweights", fields["resourceweights"])
	if len(weights) == 0 {
		return
	}
	p.NodeSortPolicy.Weights = nil
	for _, w := range weights {
		p.Weights = append(p.Weights, validation.TokenAt(positionOf(w.key), w.name))
		r.resourceUses.RecordWeight(p, w.name, positionOf(w.key))
		weight, ok := r.number(p, "the weight of "+validation.Quote(w.name), w.value)
		switch {
		case ok && weight < 0:
			r.Add(p, positionOf(w.value), "V31",
				fmt.Sprintf("the weight of %s is negative: %v", validation.Quote(w.name), weight),
				"0 leaves the resource out")
		case weight > 0:
			p.NodeSortPolicy.Weights = append(p.NodeSortPolicy.Weights, policies.Weight{Resource: w.name, Weight: weight})
		}
	}
	slices.SortFunc(p.NodeSortPolicy.Weights, func(a, b policies.Weight) int {
		return cmp.Compare(a.Resource, b.Resource)
	})
}

func (r *reader) userGroupResolver(p *validation.PartitionDraft, n *yaml.Node) {
	t := r.fields(p, "usergroupresolver", n, &resolverMapping)["type"]
	name := r.text(p, "type", t)
	if !slices.Contains(resolvers, name) {
		r.Add(p, positionOf(t), "resolver-unknown",
			"unknown user group resolver "+validation.Quote(name)+": users are not resolved",
			validation.DidYouMean(name, resolvers))
		name = ""
	}
	p.UserGroupResolver = name
}
