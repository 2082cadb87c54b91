package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

// budgetSpec has the fields that Kubernetes has below spec.
type budgetSpec struct {
	Selector       *selectorSpec `json:"selector,omitempty" yaml:"selector,omitempty"`
	MinAvailable   any           `json:"minAvailable,omitempty" yaml:"minAvailable,omitempty"` // 3 or 50%
	MaxUnavailable any           `json:"maxUnavailable,omitempty" yaml:"maxUnavailable,omitempty"`
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

// Budget is a disruption budget. Its fields have the names of Kubernetes.
type Budget struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	budgetSpec
	Allowed    *int32         `json:"allowed,omitempty"`
	Partitions []BudgetCounts `json:"partitions,omitempty"` // in name order
}

// BudgetCounts are the counts of a budget in a partition.
type BudgetCounts struct {
	Partition  string `json:"partition"`
	Matching   int    `json:"matching"`   // allocations that the budget selects
	Preempting int    `json:"preempting"` // of these, preempted and not confirmed yet
	// how many more may be preempted now; negative: too many were, or too few run
	DisruptionsAllowed int `json:"disruptionsAllowed"`
}

// budgetObject is a disruption budget as a Kubernetes object.
type budgetObject struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Metadata   ObjectMetadata `yaml:"metadata"`
	Spec       budgetSpec     `yaml:"spec"`
	Allowed    *int32         `yaml:"allowed,omitempty"` // ours
	Status     budgetStatus   `yaml:"status"`
}

// budgetStatus has the sums over all partitions, under the names of Kubernetes.
type budgetStatus struct {
	CurrentHealthy     int `yaml:"currentHealthy"`
	DesiredHealthy     int `yaml:"desiredHealthy"`
	DisruptionsAllowed int `yaml:"disruptionsAllowed"`
	ExpectedPods       int `yaml:"expectedPods"`
}

// The version and the kind of an object of Kubernetes that is a disruption budget.
const (
	BudgetVersion    = "policy/v1"
	BudgetObjectKind = "PodDisruptionBudget"
)

// NewBudget shows b with its counts in each partition.
func NewBudget(b *budgets.Budget, counts []BudgetCounts) Budget {
	spec, allowed := specOf(b)
	return Budget{b.Name, b.Namespace, spec, allowed, counts}
}

// NewBudgetObject shows b as an object of Kubernetes.
func NewBudgetObject(b *budgets.Budget, counts []BudgetCounts) budgetObject {
	spec, allowed := specOf(b)
	var s budgetStatus
	for _, c := range counts {
		if c.Matching == 0 {
			continue // the budget selects nothing in this partition
		}
		s.CurrentHealthy += c.Matching - c.Preempting
		s.DesiredHealthy += max(0, c.Matching-c.Preempting-c.DisruptionsAllowed)
		s.DisruptionsAllowed += max(0, c.DisruptionsAllowed)
		s.ExpectedPods += c.Matching
	}
	return budgetObject{BudgetVersion, BudgetObjectKind, ObjectMetadata{b.Name, b.Namespace}, spec, allowed, s}
}

func specOf(b *budgets.Budget) (spec budgetSpec, allowed *int32) {
	var number any = b.Allowance.N
	if b.Allowance.Percent {
		number = b.Allowance.Number()
	}
	switch b.Allowance.Kind {
	case budgets.MinAvailable:
		spec.MinAvailable = number
	case budgets.MaxUnavailable:
		spec.MaxUnavailable = number
	case budgets.Allowed:
		allowed = &b.Allowance.N
	}
	spec.Selector = &selectorSpec{MatchLabels: b.Selector.Labels()}
	for _, e := range b.Selector.Expressions() {
		spec.Selector.MatchExpressions = append(spec.Selector.MatchExpressions,
			expressionSpec{e.Key, string(e.Operator), e.Values})
	}
	return spec, allowed
}

// ObjectMetadata has the fields of the metadata of a Kubernetes object that are used.
type ObjectMetadata struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}
