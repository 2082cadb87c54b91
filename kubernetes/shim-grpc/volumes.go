package main

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// volumesOf returns what the volumes of a pod require of its node, or why it cannot be asked for: no node is chosen
// here for a volume, so its claims must be bound.
func (c *cluster) volumesOf(p *v1.Pod) (required []v1.NodeSelectorRequirement, blocked condition) {
	for _, v := range p.Spec.Volumes {
		name := p.Name + "-" + v.Name // of a generic ephemeral volume
		if v.PersistentVolumeClaim != nil {
			name = v.PersistentVolumeClaim.ClaimName
		} else if v.Ephemeral == nil {
			continue
		}
		claim, _ := c.claims.PersistentVolumeClaims(p.Namespace).Get(name)
		claim = cmp.Or(claim, &v1.PersistentVolumeClaim{}) // the only error is that it is unknown
		volume, err := c.volumes.Get(claim.Spec.VolumeName)
		if err != nil || claim.Status.Phase != v1.ClaimBound {
			return nil, condition{reasonSkipped, "waits until the volume claim " + name + " exists and is bound; storage " +
				"classes with WaitForFirstConsumer are not supported by this scheduler", ""}
		}
		switch a := volume.Spec.NodeAffinity; {
		case a == nil || a.Required == nil:
		case len(a.Required.NodeSelectorTerms) == 1 && len(a.Required.NodeSelectorTerms[0].MatchFields) == 0:
			required = append(required, a.Required.NodeSelectorTerms[0].MatchExpressions...)
		default:
			return nil, unsupported("volumes with several terms or fields in their node affinity, as of the claim %s,", name)
		}
	}
	return required, condition{}
}

// requireNode adds requirements to a node affinity: to each of its terms, of which one is enough.
func requireNode(a *v1.NodeAffinity, requirements []v1.NodeSelectorRequirement) *v1.NodeAffinity {
	if len(requirements) == 0 {
		return a
	}
	a = cmp.Or(a, &v1.NodeAffinity{}).DeepCopy()
	own := cmp.Or(a.RequiredDuringSchedulingIgnoredDuringExecution,
		&v1.NodeSelector{NodeSelectorTerms: make([]v1.NodeSelectorTerm, 1)})
	for i, term := range own.NodeSelectorTerms {
		own.NodeSelectorTerms[i].MatchExpressions = append(term.MatchExpressions, requirements...)
	}
	a.RequiredDuringSchedulingIgnoredDuringExecution = own
	return a
}
