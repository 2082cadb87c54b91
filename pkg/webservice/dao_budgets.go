package webservice

import "cmp"

// budgetConfig is a disruption budget under the keys that Kubernetes gives it, all at the top.
type budgetConfig struct {
	Name       string         `yaml:"name"`
	Namespace  string         `json:",omitempty" yaml:"namespace,omitempty"`
	Metadata   objectMetadata `json:"-" yaml:"metadata,omitempty"`
	budgetSpec `yaml:",inline"`
	Allowed    any        `json:",omitempty" yaml:"allowed,omitempty"`
	Spec       budgetSpec `json:"-" yaml:"spec,omitempty"`
}

// budgetSpec is what Kubernetes has below spec.
type budgetSpec struct {
	Selector       *selectorSpec `json:",omitempty" yaml:"selector,omitempty"`
	MinAvailable   any           `json:",omitempty" yaml:"minAvailable,omitempty"` // 3 or 50%
	MaxUnavailable any           `json:",omitempty" yaml:"maxUnavailable,omitempty"`
}

type selectorSpec struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty" yaml:"matchLabels,omitempty"`
	MatchExpressions []expressionSpec  `json:"matchExpressions,omitempty" yaml:"matchExpressions,omitempty"`
}

type expressionSpec struct {
	Key      string   `json:"key" yaml:"key"`
	Operator string   `json:"operator" yaml:"operator"`
	Values   []string `json:"values,omitempty" yaml:"values,omitempty"`
}

// objectMetadata is what counts of the metadata of an object of Kubernetes.
type objectMetadata struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

// complete brings everything to the top; the rest of the metadata is Kubernetes' own.
func (b *budgetConfig) complete() {
	b.Name, b.Namespace = cmp.Or(b.Name, b.Metadata.Name), cmp.Or(b.Namespace, b.Metadata.Namespace)
	b.Selector = cmp.Or(b.Selector, b.Spec.Selector)
	b.MinAvailable = cmp.Or(b.MinAvailable, b.Spec.MinAvailable)
	b.MaxUnavailable = cmp.Or(b.MaxUnavailable, b.Spec.MaxUnavailable)
	b.Metadata, b.Spec = objectMetadata{}, budgetSpec{}
}
