package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// checkPlacement applies V29: the fixed part of a placement rule must lead to a queue
// that exists or may be created (CFG-69).
func (r *Report) checkPlacement(p *Partition) {
	for i := range p.PlacementRules {
		r.checkRulePath(p, i)
	}
	r.checkPatternSize(p)
}

// checkPatternSize bounds what the regular expressions of the filters of a partition cost together (CFG-16).
func (r *Report) checkPatternSize(p *Partition) {
	size := 0
	for i := range p.PlacementRules {
		for level, x := 1, &p.PlacementRules[i]; x != nil; level, x = level+1, x.Parent {
			size += x.Filter.PatternSize()
			if size > placement.MaxPatternSize {
				r.Add(p.RuleSubject(i, level), r.At(x), "bound-filters",
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
func (r *Report) checkRulePath(p *Partition, index int) {
	var chain []*placement.Rule // the topmost parent first
	for x := &p.PlacementRules[index]; x != nil; x = x.Parent {
		chain = append(chain, x)
	}
	slices.Reverse(chain)
	var levels []string
	fixed := 0
	for ; fixed < len(chain) && chain[fixed].Kind == placement.Fixed; fixed++ {
		if r.IsMisread(chain[fixed]) {
			return // reported already
		}
		below, _ := SplitValue(chain[fixed].Value)
		levels = append(levels, below...)
	}
	if fixed == 0 || r.IsMisread(chain[min(fixed, len(chain)-1)]) {
		return
	}
	add := func(message, hint string) {
		r.Add(p.RuleSubject(index, len(chain)+1-fixed), r.At(chain[fixed-1], "value"), "V29", message, hint)
	}
	q := p.Root
	for _, name := range levels {
		if !q.isParent() {
			add(fmt.Sprintf("%s is a leaf, so there can be no queue %s below it", q.path(), Quote(name)), "")
			return
		}
		child := q.child(name)
		if child == nil {
			if !p.PlacementRules[index].Create {
				add(fmt.Sprintf("%s has no queue %s", q.path(), Quote(name)),
					cmp.Or(DidYouMean(name, q.childNames()), "configure the queue, or let the rule create it with create: true"))
			}
			return
		}
		q = child
	}
	switch more := fixed < len(chain); {
	case more && !q.isParent():
		add(q.path()+" is a leaf, but another rule chooses a queue below it", "give the queue the flag parent: true")
	case !more && q.isParent():
		add(q.path()+" is a parent, which cannot hold applications", "name a leaf, or make this the parent of another rule")
	}
}

// childNames returns the names of the first children, for suggestions.
func (q *Queue) childNames() (names []string) {
	for _, c := range q.Children[:min(len(q.Children), maxCompared)] {
		names = append(names, c.Name)
	}
	return names
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
