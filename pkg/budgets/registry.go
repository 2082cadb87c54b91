package budgets

import "github.com/canopy-scheduler/canopy/pkg/registry"

// Registry is a set of budgets, by namespace and then by name. The zero value has none. Every field of a budget but
// its key may change, as in Kubernetes.
type Registry = registry.Registry[Budget, *Budget]

// New returns a registry of these budgets. The error joins a *registry.Problem for every violation.
func New(all ...Budget) (Registry, error) { return registry.New(all...) }

const kindName = "disruption budget"

var budgetKind = registry.Kind[Budget]{Name: kindName, Short: "budget"}

// Kind describes disruption budgets as objects of a registry.
func (*Budget) Kind() *registry.Kind[Budget] { return &budgetKind }

// Key returns the namespace with the name.
func (b *Budget) Key() registry.Key { return registry.Key{Namespace: b.Namespace, Name: b.Name} }
