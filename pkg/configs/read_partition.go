package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// read turns a text into drafts.
func (r *reader) read(text []byte) (d documentDraft) {
	if !r.fits(text) {
		return d
	}
	top := r.open(text)
	d.empty = isNull(top)
	fields := r.fields(nil, "the document", top, &documentMapping)
	r.untidy = r.misreads[top]
	r.text(nil, "checksum", fields["checksum"])
	_, d.hasClasses = fields[classesKey]
	_, d.hasBudgets = fields[budgetsKey]
	d.classes = r.classes(fields[classesKey])
	d.budgets = r.budgets(fields[budgetsKey])
	for _, n := range r.mappings(nil, "partitions", fields["partitions"]) {
		if d.partitions = append(d.partitions, r.partition(n)); r.queues > r.options.MaxQueues {
			break // reported; what comes is not read at all
		}
	}
	return d
}

func (r *reader) partition(n *yaml.Node) *partitionDraft {
	p := &partitionDraft{at: place(n), name: partitionName(peek(n, "name"))}
	r.inPartition = p.name
	fields := r.fields(p, "a partition", n, &partitionMapping)
	if name := fields["name"]; name != nil {
		p.at = place(name)
		r.text(p, "name", name)
	}
	p.root = r.tree(p, fields["queues"], r.untidy || r.misreads[n])
	for i, x := range r.mappings(p, "placementrules", fields["placementrules"]) {
		p.rules = append(p.rules, r.rule(p, element("placementrules", i), x, 1))
	}
	if l := fields["limits"]; l != nil {
		p.limitsAt = place(l)
		p.limits = r.limits(p.root, l)
	}
	p.ignorePriority = r.disabled(p, "priority", fields["priority"])
	preemption := r.fields(p, "preemption", fields["preemption"], &preemptionMapping)
	p.preemption = r.flag(p, "enabled", preemption["enabled"], true)
	p.quotaPreemption = r.flag(p, "quotapreemptionenabled", preemption["quotapreemptionenabled"], false)
	p.nodePressure = r.flag(p, "nodepressureenabled", preemption["nodepressureenabled"], false)
	p.waits = r.duration(p, "nominationtimeout", preemption["nominationtimeout"], defaultNominationTimeout)
	p.churn = r.churn(p, preemption)
	r.nodeOrder(p, fields["nodesortpolicy"])
	r.resolver(p, fields["usergroupresolver"])
	p.needQuota = r.selectors(p, fields["classesneedingquota"])
	return p
}

// defaultNominationTimeout is well above the grace periods in use: the default of Kubernetes
// is 30 seconds.
const defaultNominationTimeout = 5 * time.Minute

// defaultChurn is far from what a cluster with work to do comes to: each time round, somebody
// is told to leave, leaves, asks anew, waits for its turn and takes room from somebody.
var defaultChurn = Churn{Breaker: true, Rounds: 10, Window: 30 * time.Minute, Pause: 5 * time.Minute}

const mostRounds = 1000

func (r *reader) churn(p *partitionDraft, preemption map[string]*yaml.Node) Churn {
	c := defaultChurn
	c.Breaker = r.flag(p, "churnbreakerenabled", preemption["churnbreakerenabled"], c.Breaker)
	if n := preemption["churnrounds"]; !isNull(n) {
		if rounds := r.count(p, "churnrounds", n); rounds.ok && rounds.n <= mostRounds {
			c.Rounds = int(rounds.n)
		} else if rounds.ok {
			r.wrongType(p, "churnrounds", n, "a whole number from 0 to 1000")
		}
	}
	c.Window = r.stretch(p, "churnwindow", preemption["churnwindow"], c.Window)
	c.Pause = r.stretch(p, "churnpause", preemption["churnpause"], c.Pause)
	return c
}

// disabled reads a word that says whether something is off.
func (r *reader) disabled(p *partitionDraft, what string, n *yaml.Node) bool {
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

// stretch is a duration above zero.
func (r *reader) stretch(p *partitionDraft, what string, n *yaml.Node, missing time.Duration) time.Duration {
	d := r.duration(p, what, n, missing)
	if d == 0 {
		r.wrongType(p, what, n, "a time above 0s, such as 5m")
	}
	return d
}

// partitionName gives a partition without a name its name, and the default partition
// one spelling.
func partitionName(s string) string {
	if s == "" || strings.EqualFold(s, defaultPartition) {
		return defaultPartition
	}
	return s
}

// tree reads the queues of a partition. misread says that something else in it, or around it,
// could not be understood. A single top queue called root is the root, in
// any case; otherwise all top queues go below a root of our own (V4, L4,
// behaviour.md 1.2.7).
func (r *reader) tree(p *partitionDraft, n *yaml.Node, misread bool) *queueDraft {
	root := &queueDraft{partition: p, at: p.at, name: rootName, level: 1, maxApplications: count{ok: true}}
	written := n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 1 &&
		strings.ToLower(peek(n.Content[0], "name")) == rootName
	if !written && !r.inBounds(root) {
		root.aclUnknown = true
		return root
	}
	if isNull(n) {
		root.aclUnknown = true
		if misread {
			return root // the queues may be what could not be read
		}
		r.add(p, p.at, "V2", `key "queues" is missing`, `write "queues: []" for a partition with only a root queue`)
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

func (r *reader) nodeOrder(p *partitionDraft, n *yaml.Node) {
	p.nodes = policies.DefaultNodeOrder()
	if n != nil && n.Kind == yaml.ScalarNode && !isNull(n) {
		r.add(p, place(n), "yaml-type", "nodesortpolicy must be a mapping, not "+describe(n),
			"write nodesortpolicy: {type: "+n.Value+"}")
		return
	}
	fields := r.fields(p, "nodesortpolicy", n, &nodesMapping)
	if t := fields["type"]; t != nil {
		name := r.text(p, "type", t)
		nodes, ok := policies.ParseNodes(name)
		if !ok {
			r.add(p, place(t), "V30", "unknown node sort policy "+quote(name), didYouMean(name, nodePolicies))
		}
		p.nodes.Nodes = nodes
	}
	weights := r.pairsUpTo(mostResources, p, "resourceweights", fields["resourceweights"])
	if len(weights) == 0 {
		return
	}
	p.nodes.Weights = nil
	for _, w := range weights {
		p.weights = append(p.weights, word{place(w.key), w.name})
		r.uses.of(p.name, w.name).add(p, "resourceweights", place(w.key), true)
		weight, ok := r.number(p, "the weight of "+quote(w.name), w.value)
		switch {
		case ok && weight < 0:
			r.add(p, place(w.value), "V31", fmt.Sprintf("the weight of %s is negative: %v", quote(w.name), weight),
				"0 leaves the resource out")
		case weight > 0:
			p.nodes.Weights = append(p.nodes.Weights, policies.Weight{Resource: w.name, Weight: weight})
		}
	}
	slices.SortFunc(p.nodes.Weights, func(a, b policies.Weight) int {
		return cmp.Compare(a.Resource, b.Resource)
	})
}

func (r *reader) resolver(p *partitionDraft, n *yaml.Node) {
	t := r.fields(p, "usergroupresolver", n, &resolverMapping)["type"]
	name := r.text(p, "type", t)
	if !slices.Contains(resolvers, name) {
		r.add(p, place(t), "resolver-unknown",
			"unknown user group resolver "+quote(name)+": users are not resolved", didYouMean(name, resolvers))
		name = ""
	}
	p.resolver = name
}
