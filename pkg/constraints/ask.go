package constraints

import "slices"

// Ask holds the constraints of an ask on nodes. It is immutable. nil: the ask has none; it then admits all nodes
// without taints.
type Ask struct {
	content  content
	key      string
	scoreKey string
	derived  bool // by InDomain or Without
	parsed   *Ask // if derived: the Ask before; nil: an ask without constraints
}

// content holds the parsed fields of an Ask.
type content struct {
	Selector    map[string]string `json:"selector,omitempty"`
	Affinity    *NodeSelector     `json:"affinity,omitempty"`
	Tolerations []Toleration      `json:"tolerations,omitempty"`
	Preferred   []PreferredTerm   `json:"preferred,omitempty"`
	Domain      map[string]string `json:"domain,omitempty"`  // see InDomain
	Without     []string          `json:"without,omitempty"` // see Without
}

// NodeSelector is the required node affinity: a node must match one of the terms.
type NodeSelector struct {
	Terms []Term `json:"nodeSelectorTerms"`
}

// Term matches a node that fulfils all of its expressions. A term without any matches no node.
type Term struct {
	MatchExpressions []Expression `json:"matchExpressions,omitempty"` // on labels
	MatchFields      []Expression `json:"matchFields,omitempty"`      // on metadata.name, which is the node ID
}

// Key returns a text that is equal for two asks only if they admit the same nodes and prefer the same nodes; empty for
// nil.
func (a *Ask) Key() string {
	if a == nil {
		return ""
	}
	return a.key
}

// InDomain returns a with the further constraint that a node has these labels, which are those of a topology domain.
// nil stands for an ask without constraints.
func (a *Ask) InDomain(labels map[string]string) *Ask {
	limited := a.derive()
	limited.content.Domain = labels
	limited.setKey()
	return limited
}

// Without returns a without these nodes, which have refused the ask. They replace those of an earlier call; without
// nodes none is left out. nil stands for an ask without constraints.
func (a *Ask) Without(nodes []string) *Ask {
	if len(nodes) == 0 && a.Domain() == nil {
		return a.Parsed()
	}
	limited := a.derive()
	limited.content.Without = slices.Sorted(slices.Values(nodes))
	limited.setKey()
	return limited
}

// Refused returns the nodes that a is without. Read-only.
func (a *Ask) Refused() []string {
	if a == nil {
		return nil
	}
	return a.content.Without
}

// Parsed returns a as it was parsed from tags, before InDomain and Without; nil: no constraints.
func (a *Ask) Parsed() *Ask {
	if a == nil || !a.derived {
		return a
	}
	return a.parsed
}

// derive returns a copy of a for further constraints.
func (a *Ask) derive() *Ask {
	limited := &Ask{derived: true, parsed: a.Parsed()}
	if a != nil {
		limited.content, limited.scoreKey = a.content, a.scoreKey
	}
	return limited
}

// Domain returns the labels of the topology domain to which a is limited; nil: it is not. Read-only.
func (a *Ask) Domain() map[string]string {
	if a == nil {
		return nil
	}
	return a.content.Domain
}

// Mismatch names the constraint by which an ask does not admit a node.
type Mismatch uint8

// The mismatches, in the order of the checks.
const (
	Matches          Mismatch = iota // none: it admits the node
	SelectorMismatch                 // by its node selector or its required node affinity
	UntoleratedTaint                 // the node has a taint that it does not tolerate
)

// Match returns the reason why a does not admit n, or Matches.
func (a *Ask) Match(n *Node) Mismatch {
	switch {
	case a == nil && !n.Tainted():
		return Matches
	case a == nil:
		return UntoleratedTaint
	case !a.content.selects(n):
		return SelectorMismatch
	case !a.content.toleratesAll(n):
		return UntoleratedTaint
	}
	return Matches
}

// Selects reports whether the node selector and the required node affinity of a match n, whatever its taints.
func (a *Ask) Selects(n *Node) bool { return a == nil || a.content.selects(n) }

// Tolerates reports whether a tolerates all taints of n, whatever its labels.
func (a *Ask) Tolerates(n *Node) bool {
	if a == nil {
		return !n.Tainted()
	}
	return a.content.toleratesAll(n)
}

// Untolerated returns the taints of n that a does not tolerate, in the order of the node. Those with PreferNoSchedule
// keep nothing away and are not among them.
func (a *Ask) Untolerated(n *Node) (taints []Taint) {
	hard := n.hardTaints()
	for i := range hard {
		if a == nil || !a.content.tolerates(&hard[i]) {
			taints = append(taints, hard[i])
		}
	}
	return taints
}

func (c *content) selects(n *Node) bool {
	for key, value := range c.Selector {
		if have, ok := n.labels[key]; !ok || have != value {
			return false
		}
	}
	for key, value := range c.Domain {
		if have, ok := n.labels[key]; !ok || have != value {
			return false
		}
	}
	if c.Affinity == nil {
		return true
	}
	for i := range c.Affinity.Terms {
		if c.Affinity.Terms[i].matches(n) {
			return true
		}
	}
	return false
}

// check returns the error of a term; nil: it has none.
func (t *Term) check() error {
	for i := range t.MatchExpressions {
		if err := t.MatchExpressions[i].Check(); err != nil {
			return err
		}
	}
	for i := range t.MatchFields {
		if err := t.MatchFields[i].checkField(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Term) matches(n *Node) bool {
	for i := range t.MatchExpressions {
		label, exists := n.labels[t.MatchExpressions[i].Key]
		if !t.MatchExpressions[i].Matches(label, exists) {
			return false
		}
	}
	for i := range t.MatchFields {
		if !t.MatchFields[i].Matches(n.name, true) {
			return false
		}
	}
	return len(t.MatchExpressions)+len(t.MatchFields) > 0
}

func (c *content) toleratesAll(n *Node) bool {
	hard := n.hardTaints()
	for i := range hard {
		if !c.tolerates(&hard[i]) {
			return false
		}
	}
	return true
}

func (c *content) tolerates(t *Taint) bool {
	for i := range c.Tolerations {
		if c.Tolerations[i].tolerates(t) {
			return true
		}
	}
	return false
}
