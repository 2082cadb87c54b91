package constraints

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A preference orders the nodes that an ask may be placed on, and refuses none of them.

// MaxWeight is the highest weight of a preferred term.
const MaxWeight = 100

// softTaintWeight is subtracted from the score of a node for each taint with PreferNoSchedule that the ask does not
// tolerate. It equals the highest weight of a term.
const softTaintWeight = MaxWeight

// PreferredTerm is a term of the preferred node affinity: nodes that it matches are preferred, by its weight.
type PreferredTerm struct {
	Weight     int32 `json:"weight"` // from 1 to MaxWeight
	Preference Term  `json:"preference"`
}

// CheckWeight returns the error of the weight of a preferred term; nil: it has none.
func CheckWeight(weight int32) error {
	if weight < 1 || weight > MaxWeight {
		return fmt.Errorf("weight %d is not from 1 to %d", weight, MaxWeight)
	}
	return nil
}

func (t *PreferredTerm) check() error {
	if err := CheckWeight(t.Weight); err != nil {
		return err
	}
	return t.Preference.check()
}

// Score returns how much a prefers n, the part of constraints on nodes in the preference score: the sum of the weights
// of the preferred terms that match n, less softTaintWeight for each taint with PreferNoSchedule that a does not
// tolerate. Higher is better. It does not overflow: the length of a tag bounds the terms.
func (a *Ask) Score(n *Node) (score int64) {
	if a != nil {
		for i := range a.content.Preferred {
			if t := &a.content.Preferred[i]; t.Preference.matches(n) {
				score += int64(t.Weight)
			}
		}
	}
	soft := n.softTaints()
	for i := range soft {
		if a == nil || !a.content.tolerates(&soft[i]) {
			score -= softTaintWeight
		}
	}
	return score
}

// AppendScoreLabels appends to labels, in order, the labels of a node that Score reads, if labels does not have them;
// the empty label stands for the name of the node.
func (a *Ask) AppendScoreLabels(labels []string) []string {
	if a == nil {
		return labels
	}
	before := len(labels)
	add := func(label string) {
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	for i := range a.content.Preferred {
		t := &a.content.Preferred[i].Preference
		for j := range t.MatchExpressions {
			add(t.MatchExpressions[j].Key)
		}
		if len(t.MatchFields) > 0 {
			add("")
		}
	}
	slices.Sort(labels[before:])
	return labels
}

// AppendGroup appends a text to key that is equal for nodes with equal values of labels and the same taints with
// PreferNoSchedule. These nodes have the same Score for each ask with no other AppendScoreLabels.
func (n *Node) AppendGroup(key []byte, labels []string) []byte {
	text := func(s string) { key = append(binary.AppendUvarint(key, uint64(len(s))), s...) }
	for _, label := range labels {
		if label == "" {
			text(n.name)
		} else if value, ok := n.labels[label]; ok {
			text(value)
			key = append(key, 1)
		} else {
			text("")
			key = append(key, 0)
		}
	}
	soft := n.softTaints()
	for i := range soft {
		text(soft[i].Key)
		text(soft[i].Value)
	}
	return key
}

// Prefers reports whether a has preferred terms.
func (a *Ask) Prefers() bool { return a != nil && len(a.content.Preferred) > 0 }

// ScoreKey returns a text that is equal for two asks only if they score every node alike; empty for nil.
func (a *Ask) ScoreKey() string {
	if a == nil {
		return ""
	}
	return a.scoreKey
}

// scored returns the part of c that Score depends on.
func (c *content) scored() *content {
	out := &content{Preferred: c.Preferred}
	for _, t := range c.Tolerations {
		if t.Effect == "" || t.Effect == PreferNoSchedule {
			out.Tolerations = append(out.Tolerations, t)
		}
	}
	return out
}
