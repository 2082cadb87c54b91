package queuesyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// read decodes a text into drafts.
func (r *reader) read(text []byte) (d documentDraft) {
	if !r.checkTextSize(text) {
		return d
	}
	top := r.openDocument(text)
	d.empty = isNull(top)
	fields := r.fields(nil, "the document", top, &documentMapping)
	r.documentMisread = r.misreadMappings[top]
	r.text(nil, "checksum", fields["checksum"])
	_, d.hasClasses = fields[PriorityClasses.key]
	_, d.hasBudgets = fields[budgetsKey]
	d.classes = PriorityClasses.readList(r, fields[PriorityClasses.key])
	d.budgets = DisruptionBudgets.readList(r, fields[budgetsKey])
	for _, n := range r.mappings(nil, "partitions", fields["partitions"]) {
		if d.partitions = append(d.partitions, r.partition(n)); r.queueCount > r.options.MaxQueues {
			break // reported; the partitions beyond the bound are not read
		}
	}
	return d
}

func (r *reader) partition(n *yaml.Node) *partitionDraft {
	p := &partitionDraft{position: positionOf(n), name: partitionName(peek(n, "name"))}
	r.currentPartition = p.name
	fields := r.fields(p, "a partition", n, &partitionMapping)
	if name := fields["name"]; name != nil {
		p.position = positionOf(name)
		r.text(p, "name", name)
	}
	p.root = r.tree(p, fields["queues"], r.documentMisread || r.misreadMappings[n])
	for i, x := range r.mappings(p, "placementrules", fields["placementrules"]) {
		p.placementRules = append(p.placementRules, r.rule(p, element("placementrules", i), x, 1))
	}
	if l := fields["limits"]; l != nil {
		p.limitsAt = positionOf(l)
		p.limits = r.limits(p.root, l)
	}
	p.priorityDisabled = r.isDisabled(p, "priority", fields["priority"])
	preemption := r.fields(p, "preemption", fields["preemption"], &preemptionMapping)
	p.preemptionEnabled = r.flag(p, "enabled", preemption["enabled"], true)
	p.quotaPreemptionEnabled = r.flag(p, "quotapreemptionenabled", preemption["quotapreemptionenabled"], false)
	p.nodePressureEnabled = r.flag(p, "nodepressureenabled", preemption["nodepressureenabled"], false)
	p.nominationTimeout = r.duration(p, "nominationtimeout", preemption["nominationtimeout"], configs.DefaultNominationTimeout)
	p.churn = r.churn(p, preemption)
	r.nodeSortPolicy(p, fields["nodesortpolicy"])
	r.userGroupResolver(p, fields["usergroupresolver"])
	p.classesNeedingQuota = r.classSelectors(p, fields["classesneedingquota"])
	return p
}

func (r *reader) churn(p *partitionDraft, preemption map[string]*yaml.Node) configs.Churn {
	c := configs.DefaultChurn()
	c.CircuitBreaker = r.flag(p, "churnbreakerenabled", preemption["churnbreakerenabled"], c.CircuitBreaker)
	if n := preemption["churncycles"]; !isNull(n) {
		if rounds := r.count(p, "churncycles", n); rounds.ok && rounds.n <= configs.MaxChurnCycles {
			c.Cycles = int(rounds.n)
		} else if rounds.ok {
			r.wrongType(p, "churncycles", n, "a whole number from 0 to 1000")
		}
	}
	c.Window = r.positiveDuration(p, "churnwindow", preemption["churnwindow"], c.Window)
	c.CoolDown = r.positiveDuration(p, "churncooldown", preemption["churncooldown"], c.CoolDown)
	return c
}

// isDisabled reads the word enabled, the default, or disabled.
func (r *reader) isDisabled(p *partitionDraft, what string, n *yaml.Node) bool {
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

// positiveDuration reads a duration above zero.
func (r *reader) positiveDuration(p *partitionDraft, what string, n *yaml.Node, defaultValue time.Duration) time.Duration {
	d := r.duration(p, what, n, defaultValue)
	if d == 0 {
		r.wrongType(p, what, n, "a time above 0s, such as 5m")
	}
	return d
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
func (r *reader) tree(p *partitionDraft, n *yaml.Node, siblingsMisread bool) *queueDraft {
	root := &queueDraft{partition: p, position: p.position, name: configs.RootQueue, level: 1, maxApplications: count{ok: true}}
	written := n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 1 &&
		strings.ToLower(peek(n.Content[0], "name")) == configs.RootQueue
	if !written && !r.countQueue(root) {
		root.aclUnknown = true
		return root
	}
	if isNull(n) {
		root.aclUnknown = true
		if siblingsMisread {
			return root // the queues may be in the part that was not understood
		}
		r.add(p, p.position, "V2", `key "queues" is missing`, `write "queues: []" for a partition with only a root queue`)
		return root
	}
	root.aclUnknown = n.Kind != yaml.SequenceNode
	top := r.mappings(p, "queues", n)
	if written && len(top) == 1 {
		if q := r.queue(p, nil, top[0]); q != nil {
			return q
		}
		return root
	}
	root.children = r.children(root, top)
	return root
}

func (r *reader) nodeSortPolicy(p *partitionDraft, n *yaml.Node) {
	p.nodeSortPolicy = policies.DefaultNodeSortPolicy()
	if n != nil && n.Kind == yaml.ScalarNode && !isNull(n) {
		r.add(p, positionOf(n), "yaml-type", "nodesortpolicy must be a mapping, not "+describe(n),
			"write nodesortpolicy: {type: "+n.Value+"}")
		return
	}
	fields := r.fields(p, "nodesortpolicy", n, &nodeSortMapping)
	if t := fields["type"]; t != nil {
		name := r.text(p, "type", t)
		nodes, ok := policies.ParseNodeSort(name)
		if !ok {
			r.add(p, positionOf(t), "V30", "unknown node sort policy "+quote(name), suggestion(name, nodeSortPolicies))
		}
		p.nodeSortPolicy.Sort = nodes
	}
	weights := r.pairsUpTo(maxMappingResources, p, "resourceweights", fields["resourceweights"])
	if len(weights) == 0 {
		return
	}
	p.nodeSortPolicy.Weights = nil
	for _, w := range weights {
		p.weights = append(p.weights, token{positionOf(w.key), w.name})
		r.resourceUses.use(p.name, w.name).add(p, "resourceweights", positionOf(w.key), true)
		weight, ok := r.number(p, "the weight of "+quote(w.name), w.value)
		switch {
		case ok && weight < 0:
			r.add(p, positionOf(w.value), "V31", fmt.Sprintf("the weight of %s is negative: %v", quote(w.name), weight),
				"0 leaves the resource out")
		case weight > 0:
			p.nodeSortPolicy.Weights = append(p.nodeSortPolicy.Weights, policies.Weight{Resource: w.name, Weight: weight})
		}
	}
	slices.SortFunc(p.nodeSortPolicy.Weights, func(a, b policies.Weight) int {
		return cmp.Compare(a.Resource, b.Resource)
	})
}

func (r *reader) userGroupResolver(p *partitionDraft, n *yaml.Node) {
	t := r.fields(p, "usergroupresolver", n, &resolverMapping)["type"]
	name := r.text(p, "type", t)
	if !slices.Contains(resolvers, name) {
		r.add(p, positionOf(t), "resolver-unknown",
			"unknown user group resolver "+quote(name)+": users are not resolved", suggestion(name, resolvers))
		name = ""
	}
	p.userGroupResolver = name
}
