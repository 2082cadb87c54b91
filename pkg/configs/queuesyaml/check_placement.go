package queuesyaml

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// checkPlacement applies V29: the fixed part of a placement rule must lead to a queue
// that exists or may be created (CFG-69).
func (r *report) checkPlacement(p *partitionDraft) {
	for _, d := range p.placementRules {
		if d != nil {
			r.checkRulePath(p.root, d)
		}
	}
}

// checkRulePath walks the queues of the fixed rules at the beginning of a rule's chain.
// Whether a missing queue may be created depends on the create flag of the rule itself,
// not on those of its parents.
func (r *report) checkRulePath(root *queueDraft, d *ruleDraft) {
	chain := d.chain()
	var levels []string
	fixed := 0
	for ; fixed < len(chain) && chain[fixed].kind == placement.Fixed; fixed++ {
		if !chain[fixed].valid {
			return // reported already
		}
		below, _ := splitValue(chain[fixed].value.text)
		levels = append(levels, below...)
	}
	if fixed == 0 || !chain[min(fixed, len(chain)-1)].valid {
		return
	}
	last := chain[fixed-1]
	q := root
	for _, name := range levels {
		if !q.isParent() {
			r.add(last, last.value.position, "V29", fmt.Sprintf("%s is a leaf, so there can be no queue %s below it",
				q.path(), quote(name)), "")
			return
		}
		child := q.child(name)
		if child == nil {
			r.reportMissingQueue(d, last, q, name)
			return
		}
		q = child
	}
	switch more := fixed < len(chain); {
	case more && !q.isParent():
		r.add(last, last.value.position, "V29", q.path()+" is a leaf, but another rule chooses a queue below it",
			"give the queue the flag parent: true")
	case !more && q.isParent():
		r.add(last, last.value.position, "V29", q.path()+" is a parent, which cannot hold applications",
			"name a leaf, or make this the parent of another rule")
	}
}

func (r *report) reportMissingQueue(top, last *ruleDraft, parent *queueDraft, name string) {
	if top.create {
		return
	}
	var names []string
	for _, c := range parent.children[:min(len(parent.children), maxCompared)] {
		names = append(names, c.name)
	}
	hint := suggestion(name, names)
	if hint == "" {
		hint = "configure the queue, or let the rule create it with create: true"
	}
	r.add(last, last.value.position, "V29", fmt.Sprintf("%s has no queue %s", parent.path(), quote(name)), hint)
}
