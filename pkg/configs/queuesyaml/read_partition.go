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
	p := &validation.PartitionDraft{Position: positionOf(n), Name: partitionName(peek(n, "name"))}
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
	preemption := r.fields(p, "preemption", fields["preemption"], &preemptionMapping)
	p.PreemptionEnabled = r.flag(p, "enabled", preemption["enabled"], true)
	p.QuotaPreemptionEnabled = r.flag(p, "quotapreemptionenabled", preemption["quotapreemptionenabled"], false)
	p.NodePressureEnabled = r.flag(p, "nodepressureenabled", preemption["nodepressureenabled"], false)
	p.NodePressureGrace = r.duration(p, "nodepressuregrace", preemption["nodepressuregrace"],
		configs.DefaultNodePressureGrace)
	p.NominationTimeout = r.duration(p, "nominationtimeout", preemption["nominationtimeout"],
		configs.DefaultNominationTimeout)
	p.Churn = r.churn(p, preemption)
	p.Reservation = r.reservation(p, r.fields(p, "reservation", fields["reservation"], &reservationMapping))
	p.NodeRefusal = r.nodeRefusal(p, r.fields(p, "noderefusal", fields["noderefusal"], &nodeRefusalMapping))
	r.nodeSortPolicy(p, fields["nodesortpolicy"])
	r.userGroupResolver(p, fields["usergroupresolver"])
	p.ClassesNeedingQuota = r.classSelectors(p, fields["classesneedingquota"])
	return p
}

func (r *reader) churn(p *validation.PartitionDraft, preemption map[string]*yaml.Node) configs.Churn {
	c := configs.DefaultChurn()
	c.CircuitBreaker = r.flag(p, "churnbreakerenabled", preemption["churnbreakerenabled"], c.CircuitBreaker)
	if n := preemption["churncycles"]; !isNull(n) {
		if rounds := r.count(p, "churncycles", n); rounds.OK && rounds.N <= configs.MaxChurnCycles {
			c.Cycles = int(rounds.N)
		} else if rounds.OK {
			r.wrongType(p, "churncycles", n, "a whole number from 0 to 1000")
		}
	}
	c.Window = r.positiveDuration(p, "churnwindow", preemption["churnwindow"], c.Window)
	c.CoolDown = r.positiveDuration(p, "churncooldown", preemption["churncooldown"], c.CoolDown)
	return c
}

func (r *reader) reservation(p *validation.PartitionDraft, fields map[string]*yaml.Node) configs.Reservation {
	s := configs.DefaultReservation()
	s.Enabled = r.flag(p, "enabled", fields["enabled"], s.Enabled)
	s.Delay = r.duration(p, "delay", fields["delay"], s.Delay)
	s.Timeout = r.positiveDuration(p, "timeout", fields["timeout"], s.Timeout)
	if n := fields["nodepercent"]; !isNull(n) {
		if percent := r.count(p, "nodepercent", n); percent.OK && percent.N >= 1 && percent.N <= 100 {
			s.NodePercent = int(percent.N)
		} else if percent.OK {
			r.wrongType(p, "nodepercent", n, "a whole number from 1 to 100")
		}
	}
	return s
}

func (r *reader) nodeRefusal(p *validation.PartitionDraft, fields map[string]*yaml.Node) refusals.Settings {
	s := refusals.DefaultSettings()
	s.Backoff = r.duration(p, "backoff", fields["backoff"], s.Backoff)
	s.MaxBackoff = r.duration(p, "maxbackoff", fields["maxbackoff"], max(s.MaxBackoff, s.Backoff))
	if s.MaxBackoff < s.Backoff || s.MaxBackoff > refusals.LongestBackoff {
		n, what := fields["maxbackoff"], "maxbackoff"
		if isNull(n) {
			n, what = fields["backoff"], "backoff"
		}
		r.wrongType(p, what, n, fmt.Sprintf("a time from backoff, which is %v, to %v", s.Backoff, refusals.LongestBackoff))
	}
	if n := fields["asks"]; !isNull(n) {
		if asks := r.count(p, "asks", n); asks.OK && asks.N >= 1 && asks.N <= refusals.MaxAsks {
			s.Asks = int(asks.N)
		} else if asks.OK {
			r.wrongType(p, "asks", n, fmt.Sprintf("a whole number from 1 to %d", refusals.MaxAsks))
		}
	}
	return s
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

// positiveDuration reads a duration above zero.
func (r *reader) positiveDuration(p *validation.PartitionDraft, what string, n *yaml.Node,
	defaultValue time.Duration) time.Duration {
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
	p.NodeSortPolicy = policies.DefaultNodeSortPolicy()
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
