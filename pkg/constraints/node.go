package constraints

import (
	"fmt"
	"slices"
)

// TaintsAttribute is the node attribute with the taints of a node, as a JSON array like that of spec.taints. All
// attributes, this one included, are labels too.
const TaintsAttribute = "canopy.scheduler/taints"

// Node holds the name, labels and taints of a node. It is immutable. The zero value is a node without labels and
// taints.
type Node struct {
	name   string
	labels map[string]string
	taints *nodeTaints // nil: none, as most nodes

	refuses map[string]bool // kinds of asks that the node refuses; nil: none
}

// nodeTaints holds the taints of a node.
type nodeTaints struct {
	hard []Taint // those that keep asks away
	soft []Taint // the others, with PreferNoSchedule
}

// NewNode reads the attributes of a node. An error names the attribute and what is wrong with it. The caller must not
// change attributes afterwards.
func NewNode(name string, attributes map[string]string) (*Node, error) {
	n := &Node{name: name, labels: attributes}
	text, ok := attributes[TaintsAttribute]
	if !ok || text == "" {
		return n, nil
	}
	var all []Taint
	n.taints = &nodeTaints{}
	if err := Decode(text, &all); err != nil {
		return nil, fmt.Errorf("attribute %s: %w", TaintsAttribute, err)
	}
	for i := range all {
		if err := all[i].check(); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", TaintsAttribute, err)
		}
		if all[i].repels() {
			n.taints.hard = append(n.taints.hard, all[i])
		} else {
			n.taints.soft = append(n.taints.soft, all[i])
		}
	}
	return n, nil
}

// Name returns the ID of the node.
func (n *Node) Name() string { return n.name }

// Label returns the value of a label; ok is false if the node has no such label.
func (n *Node) Label(key string) (value string, ok bool) {
	value, ok = n.labels[key]
	return value, ok
}

// Tainted reports whether the node keeps away asks that tolerate nothing.
func (n *Node) Tainted() bool { return len(n.hardTaints()) > 0 }

// Refusing returns a copy of n that refuses the asks of these kinds; nil: none. The caller must not change kinds
// afterwards.
func (n *Node) Refusing(kinds map[string]bool) *Node {
	changed := *n
	changed.refuses = kinds
	return &changed
}

// Refuses reports whether n refuses an ask of a kind. a holds the constraints of the ask, with the nodes that have
// refused it; nil: none. kind is called only if n refuses some kind.
func (n *Node) Refuses(a *Ask, kind func() string) bool {
	return slices.Contains(a.Refused(), n.name) || len(n.refuses) > 0 && n.refuses[kind()]
}

// RefusedKinds returns the kinds of asks that n refuses; nil: none. Read-only.
func (n *Node) RefusedKinds() map[string]bool { return n.refuses }

// Repels reports whether n keeps away some ask without constraints: it has taints, or refuses kinds of asks.
func (n *Node) Repels() bool { return n.Tainted() || len(n.refuses) > 0 }

// SoftTainted reports whether the node has taints with PreferNoSchedule.
func (n *Node) SoftTainted() bool { return len(n.softTaints()) > 0 }

// hardTaints returns the taints that keep asks away.
func (n *Node) hardTaints() []Taint {
	if n.taints == nil {
		return nil
	}
	return n.taints.hard
}

// softTaints returns the taints with PreferNoSchedule.
func (n *Node) softTaints() []Taint {
	if n.taints == nil {
		return nil
	}
	return n.taints.soft
}
