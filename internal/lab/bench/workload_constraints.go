package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Constraints of asks, and the labels and taints of nodes that they are about (workload.Constraints).

const (
	zoneLabel = "topology.kubernetes.io/zone"
	hostLabel = "kubernetes.io/hostname"
	colour    = "kubernetes.io/label/color"
)

// labels returns the labels and the taint of the i-th node; nil: no ask has constraints, and no gang a topology.
func (s *stream) labels(i int) map[string]string {
	if s.spec.Topology != "" {
		return topologyLabels(i)
	}
	if s.spec.Constraint == "" {
		return nil
	}
	labels := map[string]string{zoneLabel: fmt.Sprint("moon-", i%3+1), hostLabel: "node-" + padded(i, 6)}
	if i%4 == 0 && s.spec.Constraint == workload.Taints {
		labels[constraints.TaintsAttribute] = `[{"key":"dedicated","value":"bench","effect":"NoSchedule"}]`
	}
	if i%4 == 0 && s.spec.Constraint == workload.SoftTaints {
		labels[constraints.TaintsAttribute] = `[{"key":"dedicated","value":"bench","effect":"PreferNoSchedule"}]`
	}
	return labels
}

// constraintTags returns the tags of the i-th ask with its constraint.
func (s *stream) constraintTags(i int) map[string]string {
	own := "blue"
	if s.spec.Kinds > 1 {
		own = fmt.Sprint("blue-", i%s.spec.Kinds)
	}
	blue := `"labelSelector":{"matchLabels":{"color":"` + own + `"}}`
	term := func(key string) string {
		return `{"requiredDuringSchedulingIgnoredDuringExecution":[{` + blue + `,"topologyKey":"` + key + `"}]}`
	}
	spread := func(key string) map[string]string {
		return map[string]string{colour: own,
			affinity.SpreadTag: `[{"maxSkew":1,"topologyKey":"` + key + `","whenUnsatisfiable":"DoNotSchedule",` + blue + `}]`}
	}
	switch s.spec.Constraint {
	case workload.NodeAffinity:
		return map[string]string{constraints.AffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":{` +
			`"nodeSelectorTerms":[{"matchExpressions":[{"key":"` +
			zoneLabel + `","operator":"In","values":["moon-1","moon-2"]}]}]}}`}
	case workload.Taints:
		return map[string]string{constraints.TolerationsTag: `[{"key":"dedicated","operator":"Exists"}]`}
	case workload.PodAffinity:
		return map[string]string{colour: own, affinity.PodAffinityTag: term(zoneLabel)}
	case workload.AntiAffinity:
		return map[string]string{colour: own, affinity.PodAntiAffinityTag: term(hostLabel)}
	case workload.Spread:
		return spread(zoneLabel)
	case workload.SpreadNodes:
		return spread(hostLabel)
	}
	if tags, prefers := s.preferenceTags(own, blue); prefers {
		return tags
	}
	green := `{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"color":"green"}},` +
		`"topologyKey":"` + hostLabel + `"}]}`
	switch i % 3 {
	case 0:
		return map[string]string{colour: own, affinity.PodAffinityTag: term(zoneLabel)}
	case 1:
		return map[string]string{colour: "green", affinity.PodAntiAffinityTag: green}
	}
	return map[string]string{colour: "white"}
}

// preferenceTags returns the tags of an ask with a preference; blue selects the asks with its colour. prefers is false
// for other constraints.
func (s *stream) preferenceTags(own, blue string) (tags map[string]string, prefers bool) {
	preferred := func(terms string) string {
		return `{"preferredDuringSchedulingIgnoredDuringExecution":[` + terms + `]}`
	}
	term := func(key string) string {
		return preferred(`{"weight":1,"podAffinityTerm":{` + blue + `,"topologyKey":"` + key + `"}}`)
	}
	spread := func(key string) string {
		return `[{"maxSkew":5,"topologyKey":"` + key + `","whenUnsatisfiable":"ScheduleAnyway",` + blue + `}]`
	}
	zone := func(weight, zone string) string {
		return `{"weight":` + weight + `,"preference":{"matchExpressions":[{"key":"` + zoneLabel +
			`","operator":"In","values":["` + zone + `"]}]}}`
	}
	near := preferred(zone("50", "moon-1") + "," + zone("10", "moon-2"))
	switch tags = map[string]string{colour: own}; s.spec.Constraint {
	case workload.PreferredNodeAffinity:
		tags[constraints.AffinityTag] = near
	case workload.SoftTaints:
	case workload.PreferredAffinity:
		tags[affinity.PodAffinityTag] = term(hostLabel)
	case workload.PreferredAntiAffinity:
		tags[affinity.PodAntiAffinityTag] = term(hostLabel)
	case workload.PreferredSpread:
		tags[affinity.SpreadTag] = spread(zoneLabel)
	case workload.PreferredSpreadNodes:
		tags[affinity.SpreadTag] = spread(hostLabel)
	case workload.PreferredMix:
		tags[constraints.AffinityTag], tags[affinity.PodAffinityTag], tags[affinity.SpreadTag] = near, term(zoneLabel),
			spread(hostLabel)
	default:
		return nil, false
	}
	return tags, true
}
