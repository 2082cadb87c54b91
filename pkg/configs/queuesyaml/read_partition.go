package queuesyaml

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
)

// read decodes a text into a tree.
func (r *reader) read(text []byte) *validation.Tree {
	t := &validation.Tree{}
	if !r.checkTextSize(text) {
		return t
	}
	top := r.openDocument(text)
	t.Empty = isNull(top)
	fields := r.fields(nil, "the document", top, &documentMapping)
	r.documentMisread = r.misreadMappings[top]
	r.text(nil, "checksum", fields["checksum"])
	_, t.Config.HasClasses = fields[PriorityClasses.key]
	_, t.Config.HasBudgets = fields[budgetsKey]
	t.Classes = PriorityClasses.readList(r, fields[PriorityClasses.key])
	t.Budgets = DisruptionBudgets.readList(r, fields[budgetsKey])
	list := r.mappings(nil, "partitions", fields["partitions"])
	t.Config.Partitions = make([]configs.Partition, min(len(list), r.options.MaxQueues+1))
	for i := range t.Config.Partitions {
		t.Partitions = append(t.Partitions, r.partition(&t.Config.Partitions[i], list[i]))
		if r.queueCount > r.options.MaxQueues {
			break // reported; the partitions beyond the bound are not read
		}
	}
	return t
}

func (r *reader) partition(to *configs.Partition, n *yaml.Node) *validation.Partition {
	r.Record(to, n)
	*to = configs.DefaultPartitionSettings()
	to.Name = partitionName(peek(n, "name"))
	r.currentPartition = to.Name
	p, o := &validation.Partition{Partition: to}, validation.NewSubject("partition "+to.Name)
	p.Subject = o
	fields := r.fields(o, "a partition", n, &partitionMapping)
	r.text(o, "name", fields["name"])
	p.Root = r.tree(p, n, fields["queues"])
	p.PlacementRules = r.placementRules(p, fields["placementrules"])
	p.Limits = r.limits(p.Root, fields["limits"])
	p.PriorityDisabled = r.isDisabled(o, "priority", fields["priority"])
	r.partitionSettings(p, "preemption", fields["preemption"], &preemptionMapping)
	r.partitionSettings(p, "reservation", fields["reservation"], &reservationMapping)
	r.partitionSettings(p, "fairness", fields["fairness"], &fairnessMapping)
	refusal := r.partitionSettings(p, "noderefusal", fields["noderefusal"], &nodeRefusalMapping)
	r.checkMaxBackoff(p, refusal)
	r.nodeSortPolicy(p, fields["nodesortpolicy"])
	r.userGroupResolver(p, fields["usergroupresolver"])
	p.ClassesNeedingQuota = parts(r, o, "classesneedingquota", fields["classesneedingquota"],
		func(s *limits.Selector, x *yaml.Node) { r.classSelector(s, o, "an element of classesneedingquota", x) })
	return p
}

// partitionSettings reads a section of a partition by the table of settings, and returns its values.
func (r *reader) partitionSettings(p *validation.Partition, section string, n *yaml.Node,
	known *mapping) map[string]*yaml.Node {
	fields := r.fields(p.Subject, section, n, known)
	for _, s := range configs.PartitionSettings() {
		n := fields[s.Key]
		if s.Section != section {
			continue
		}
		if s.Key == "maxbackoff" { // its default is never below backoff
			p.NodeRefusal.MaxBackoff = max(p.NodeRefusal.MaxBackoff, p.NodeRefusal.Backoff)
		}
		switch to := s.Field(p.Partition).(type) {
		case *bool:
			*to = r.flag(p.Subject, s.Key, n, *to)
		case *time.Duration:
			*to = r.duration(p.Subject, s.Key, n, *to)
			if *to < time.Duration(s.Least) {
				r.wrongType(p.Subject, s.Key, n, "a time above 0s, such as 5m")
			}
		case *int:
			var count uint64
			switch {
			case !r.count(&count, p.Subject, s.Key, n) || isNull(n):
			case count < uint64(s.Least) || count > uint64(s.Most):
				r.wrongType(p.Subject, s.Key, n, fmt.Sprintf("a whole number from %d to %d", s.Least, s.Most))
			default:
				*to = int(count)
			}
		case *[]policies.Weight:
			*to = r.weights(p, s.Key, n, leastFairnessWeight, mostFairnessWeight)
		case configs.WordSetting:
			if isNull(n) {
				continue
			}
			at := slices.IndexFunc(s.Words, func(word string) bool { return strings.EqualFold(word, textOf(n)) })
			if at < 0 {
				r.wrongType(p.Subject, s.Key, n, strings.Join(s.Words, " or "))
				continue
			}
			to.Choose(at)
		}
	}
	return fields
}

// checkMaxBackoff refuses a longest back-off that is below the first one, or too long.
func (r *reader) checkMaxBackoff(p *validation.Partition, fields map[string]*yaml.Node) {
	s := &p.NodeRefusal
	if s.MaxBackoff >= s.Backoff && s.MaxBackoff <= refusals.LongestBackoff {
		return
	}
	key := "maxbackoff"
	if isNull(fields[key]) {
		key = "backoff"
	}
	r.wrongType(p.Subject, key, fields[key], fmt.Sprintf("a time from backoff, which is %v, to %v", s.Backoff,
		refusals.LongestBackoff))
}

// isDisabled reads the word enabled, the default, or disabled.
func (r *reader) isDisabled(o *validation.Subject, what string, n *yaml.Node) bool {
	if isNull(n) {
		return false
	}
	switch text := textOf(n); {
	case isText(n) && text == "disabled":
		return true
	case !isText(n) || text != "enabled":
		r.wrongType(o, what, n, "enabled or disabled")
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

// tree reads the queues of the partition at the node of. A single top queue called root, in any case,
// is the root queue; otherwise a root queue is added above all top queues (V4, L4, CFG-29).
func (r *reader) tree(p *validation.Partition, of, n *yaml.Node) *validation.Queue {
	p.Partition.Root.Name = configs.RootQueue
	root := validation.NewQueue(&p.Partition.Root, p, nil)
	r.Record(root.Queue, &yaml.Node{Line: r.At(p.Partition).Line, Column: r.At(p.Partition).Col})
	written := n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 1 &&
		strings.ToLower(peek(n.Content[0], "name")) == configs.RootQueue
	if !written && !r.countQueue(root, r.At(p.Partition)) {
		r.MarkMisread(&root.SubmitACL)
		return root
	}
	if isNull(n) {
		r.MarkMisread(&root.SubmitACL)
		if r.documentMisread || r.misreadMappings[of] {
			return root // the queues may be in the part that was not understood
		}
		r.Add(p.Subject, r.At(p.Partition), "V2", `key "queues" is missing`,
			`write "queues: []" for a partition with only a root queue`)
		return root
	}
	if n.Kind != yaml.SequenceNode {
		r.MarkMisread(&root.SubmitACL)
	}
	top := r.mappings(p.Subject, "queues", n)
	if written && len(top) == 1 {
		return cmp.Or(r.queue(root.Queue, p, nil, top[0]), root)
	}
	r.children(root, top)
	return root
}

func (r *reader) nodeSortPolicy(p *validation.Partition, n *yaml.Node) {
	if n != nil && n.Kind == yaml.ScalarNode && !isNull(n) {
		r.Add(p.Subject, positionOf(n), "yaml-type", "nodesortpolicy must be a mapping, not "+describe(n),
			"write nodesortpolicy: {type: "+n.Value+"}")
		return
	}
	fields := r.fields(p.Subject, "nodesortpolicy", n, &nodeSortMapping)
	if t := fields["type"]; t != nil {
		name := r.text(p.Subject, "type", t)
		nodes, ok := policies.ParseNodeSort(name)
		if !ok {
			r.Add(p.Subject, positionOf(t), "V30", "unknown node sort policy "+validation.Quote(name),
				validation.DidYouMean(name, nodeSortPolicies))
		}
		p.NodeSortPolicy.Sort = nodes
	}
	if n := fields["resourceweights"]; !isNull(n) && len(n.Content) > 0 {
		p.NodeSortPolicy.Weights = r.weights(p, "resourceweights", n, 0, math.MaxFloat64)
	}
}

// The bounds of a weight of fairness.weights: costs are computed in thousandths.
const leastFairnessWeight, mostFairnessWeight = 0.001, 1000

// weights reads weights of resources, in the order of names. 0 leaves a resource out; others are from least to most.
func (r *reader) weights(p *validation.Partition, what string, n *yaml.Node,
	least, most float64) (all []policies.Weight) {
	for _, w := range r.pairsUpTo(maxMappingResources, p.Subject, what, n) {
		r.RecordWeight(p, w.name, positionOf(w.key))
		weight, ok := r.number(p.Subject, "the weight of "+validation.Quote(w.name), w.value)
		switch {
		case ok && weight < 0:
			r.Add(p.Subject, positionOf(w.value), "V31",
				fmt.Sprintf("the weight of %s is negative: %v", validation.Quote(w.name), weight),
				"0 leaves the resource out")
		case ok && weight != 0 && (weight < least || weight > most):
			r.Add(p.Subject, positionOf(w.value), "V31",
				fmt.Sprintf("the weight of %s is %v, and not from %v to %v", validation.Quote(w.name), weight, least, most),
				"0 leaves the resource out")
		case weight > 0:
			all = append(all, policies.Weight{Resource: w.name, Weight: weight})
		}
	}
	slices.SortFunc(all, func(a, b policies.Weight) int { return cmp.Compare(a.Resource, b.Resource) })
	return all
}

func (r *reader) userGroupResolver(p *validation.Partition, n *yaml.Node) {
	t := r.fields(p.Subject, "usergroupresolver", n, &resolverMapping)["type"]
	name := r.text(p.Subject, "type", t)
	if !slices.Contains(resolvers, name) {
		r.Add(p.Subject, positionOf(t), "resolver-unknown",
			"unknown user group resolver "+validation.Quote(name)+": users are not resolved",
			validation.DidYouMean(name, resolvers))
		name = ""
	}
	p.UserGroupResolver = name
}
