package validation

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// checkPlacement applies V29: the fixed part of a placement rule must lead to a queue
// that exists or may be created (CFG-69).
func (r *Report) checkPlacement(p *PartitionDraft) {
	for _, d := range p.PlacementRules {
		if d != nil {
			r.checkRulePath(p.Root, d)
		}
	}
	r.checkPatternSize(p)
}

// checkPatternSize bounds what the regular expressions of the filters of a partition cost together (CFG-16).
func (r *Report) checkPatternSize(p *PartitionDraft) {
	size := 0
	for _, d := range p.PlacementRules {
		for ; d != nil; d = d.Parent {
			size += d.Filter.PatternSize()
			if size > placement.MaxPatternSize {
				r.Add(d, d.Position, "bound-filters",
					fmt.Sprintf("the regular expressions of the filters have a size of %d up to this rule, more than %d in one "+
						"partition",
						size, placement.MaxPatternSize), "list names instead, or let one expression stand for several rules")
				return
			}
		}
	}
}

// checkRulePath walks the queues of the fixed rules at the beginning of a rule's chain.
// Whether a missing queue may be created depends on the create flag of the rule itself,
// not on those of its parents.
func (r *Report) checkRulePath(root *QueueDraft, d *PlacementRuleDraft) {
	chain := d.chain()
	var levels []string
	fixed := 0
	for ; fixed < len(chain) && chain[fixed].Kind == placement.Fixed; fixed++ {
		if !chain[fixed].Valid {
			return // reported already
		}
		below, _ := SplitValue(chain[fixed].Value.Text)
		levels = append(levels, below...)
	}
	if fixed == 0 || !chain[min(fixed, len(chain)-1)].Valid {
		return
	}
	last := chain[fixed-1]
	q := root
	for _, name := range levels {
		if !q.isParent() {
			r.Add(last, last.Value.Position, "V29", fmt.Sprintf("%s is a leaf, so there can be no queue %s below it",
				q.path(), Quote(name)), "")
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
		r.Add(last, last.Value.Position, "V29", q.path()+" is a leaf, but another rule chooses a queue below it",
			"give the queue the flag parent: true")
	case !more && q.isParent():
		r.Add(last, last.Value.Position, "V29", q.path()+" is a parent, which cannot hold applications",
			"name a leaf, or make this the parent of another rule")
	}
}

func (r *Report) reportMissingQueue(top, last *PlacementRuleDraft, parent *QueueDraft, name string) {
	if top.Create {
		return
	}
	var names []string
	for _, c := range parent.Children[:min(len(parent.Children), maxCompared)] {
		names = append(names, c.Name)
	}
	hint := DidYouMean(name, names)
	if hint == "" {
		hint = "configure the queue, or let the rule create it with create: true"
	}
	r.Add(last, last.Value.Position, "V29", fmt.Sprintf("%s has no queue %s", parent.path(), Quote(name)), hint)
}

// SplitValue splits the value of a fixed rule into levels below root or below the queue of the
// parent rule. Only "root" and values with the prefix "root." are qualified (PLC-13); YuniKorn
// also takes rootfoo for qualified, and panics later.
func SplitValue(value string) (levels []string, qualified bool) {
	if value == configs.RootQueue {
		return nil, true
	}
	below, qualified := strings.CutPrefix(value, configs.RootQueue+".")
	return strings.Split(below, "."), qualified
}
