package affinity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// The tags of an ask with its constraints, in the JSON of the Kubernetes fields named.
const (
	PodAffinityTag     = "canopy.scheduler/podAffinity"               // spec.affinity.podAffinity
	PodAntiAffinityTag = "canopy.scheduler/podAntiAffinity"           // spec.affinity.podAntiAffinity
	SpreadTag          = "canopy.scheduler/topologySpreadConstraints" // spec.topologySpreadConstraints: an array
	// spec.containers[].ports of all containers: an array
	PortsTag = "canopy.scheduler/hostPorts"
)

// tagTexts holds the texts of the tags.
type tagTexts struct{ affinity, antiAffinity, spread, ports string }

func textsOf(tags map[string]string) tagTexts {
	if len(tags) == 0 {
		return tagTexts{}
	}
	return tagTexts{tags[PodAffinityTag], tags[PodAntiAffinityTag], tags[SpreadTag], tags[PortsTag]}
}

// Parse reads the constraints of an ask from its tags; nodes are its constraints on nodes. Nil: there are none. An
// error names the tag and what is wrong with it.
func Parse(tags map[string]string, nodes *constraints.Ask) (*Ask, error) {
	texts := textsOf(tags)
	if texts == (tagTexts{}) {
		return nil, nil
	}
	return texts.parse(budgets.NamespaceOf(tags), labelsOf(tags), nodes)
}

func (t tagTexts) parse(namespace string, labels map[string]string, nodes *constraints.Ask) (*Ask, error) {
	a := &Ask{content: content{Namespace: namespace, Labels: labels, Nodes: nodes.Key()}, nodes: nodes}
	for _, part := range []struct {
		tag, text string
		parse     func(*Ask, string) error
	}{
		{PodAffinityTag, t.affinity, (*Ask).parseAffinity}, {PodAntiAffinityTag, t.antiAffinity, (*Ask).parseAntiAffinity},
		{SpreadTag, t.spread, (*Ask).parseSpread}, {PortsTag, t.ports, (*Ask).parsePorts},
	} {
		if part.text == "" {
			continue
		}
		if err := part.parse(a, part.text); err != nil {
			return nil, fmt.Errorf("tag %s: %w", part.tag, err)
		}
	}
	if a.content.empty() {
		return nil, nil
	}
	a.key = textOf(&a.content)
	return a, nil
}

// podAffinity is the JSON of PodAffinityTag and PodAntiAffinityTag.
type podAffinity struct {
	Required  []podAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []struct {
		Weight int32           `json:"weight"`
		Term   podAffinityTerm `json:"podAffinityTerm"`
	} `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

type podAffinityTerm struct {
	LabelSelector     *Selector `json:"labelSelector"`
	Namespaces        []string  `json:"namespaces"`
	NamespaceSelector *Selector `json:"namespaceSelector"`
	TopologyKey       string    `json:"topologyKey"`
	MatchLabelKeys    []string  `json:"matchLabelKeys"`
	MismatchLabelKeys []string  `json:"mismatchLabelKeys"`
}

func (a *Ask) parseAffinity(text string) (err error) {
	a.content.Affinity, a.content.PreferredAffinity, err = a.parseTerms(text)
	return err
}

func (a *Ask) parseAntiAffinity(text string) (err error) {
	a.content.AntiAffinity, a.content.PreferredAntiAffinity, err = a.parseTerms(text)
	return err
}

func (a *Ask) parseTerms(text string) (required []Term, preferred []PreferredTerm, err error) {
	var read podAffinity
	if err := constraints.Decode(text, &read); err != nil {
		return nil, nil, err
	}
	for i := range read.Required {
		term, err := a.resolve(&read.Required[i])
		if err != nil {
			return nil, nil, fmt.Errorf("term %d: %w", i+1, err)
		}
		required = append(required, term)
	}
	for i := range read.Preferred {
		x := &read.Preferred[i]
		term, err := a.resolve(&x.Term)
		if err = cmp.Or(constraints.CheckWeight(x.Weight), err); err != nil {
			return nil, nil, fmt.Errorf("preferred term %d: %w", i+1, err)
		}
		preferred = append(preferred, PreferredTerm{x.Weight, term})
	}
	return required, preferred, nil
}

// resolve returns a term with its namespaces and with the label keys that take their values from the labels of the ask.
func (a *Ask) resolve(read *podAffinityTerm) (Term, error) {
	switch keys := slices.Concat(read.MatchLabelKeys, read.MismatchLabelKeys); {
	case read.TopologyKey == "":
		return Term{}, errNoTopologyKey
	case slices.Contains(read.Namespaces, ""):
		return Term{}, errors.New("a namespace has no name")
	case read.NamespaceSelector != nil &&
		len(read.NamespaceSelector.MatchLabels)+len(read.NamespaceSelector.MatchExpressions) > 0:
		return Term{}, errors.New("a namespaceSelector with conditions is not supported: labels of namespaces are not known")
	case len(keys) > 0 && read.LabelSelector == nil:
		return Term{}, errKeysWithoutSelector
	case slices.Contains(keys, ""):
		return Term{}, errEmptyKey
	}
	if err := read.LabelSelector.check(); err != nil {
		return Term{}, err
	}
	t := Term{TopologyKey: read.TopologyKey,
		Selector: read.LabelSelector.with(read.MatchLabelKeys, read.MismatchLabelKeys, a.content.Labels)}
	switch {
	case read.NamespaceSelector != nil: // without conditions it selects every namespace
		t.AllNamespaces = true
	case len(read.Namespaces) == 0:
		t.Namespaces = []string{a.content.Namespace}
	default:
		t.Namespaces = slices.Compact(slices.Sorted(slices.Values(read.Namespaces)))
	}
	return t, nil
}

var (
	errNoTopologyKey       = errors.New("topologyKey is missing")
	errKeysWithoutSelector = errors.New("matchLabelKeys and mismatchLabelKeys need a labelSelector")
	errEmptyKey            = errors.New("a label key is empty")
)
