package budgets

import (
	"cmp"
	"errors"
	"slices"
)

// Registry is a set of budgets. The zero value has none. Values are immutable.
type Registry struct {
	all []Budget // by namespace, then by name
}

// New returns a registry of these budgets. The error joins a *Problem for every violation, two budgets of one
// name included.
func New(all ...Budget) (Registry, error) {
	r := Registry{slices.Clone(all)}
	slices.SortStableFunc(r.all, compare)
	var errs []error
	for i := range r.all {
		b := &r.all[i]
		if i > 0 && r.all[i-1].ID() == b.ID() {
			errs = append(errs, nameTaken(b))
		}
		errs = append(errs, b.problems()...)
	}
	if len(errs) > 0 {
		return Registry{}, errors.Join(errs...)
	}
	return r, nil
}

func compare(a, b Budget) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// find is the index of a budget, or the index at which it would be inserted.
func (r Registry) find(namespace, name string) (index int, found bool) {
	return slices.BinarySearchFunc(r.all, Budget{Namespace: namespace, Name: name}, compare)
}

// Get returns a budget. The caller must not change it.
func (r Registry) Get(namespace, name string) (*Budget, bool) {
	index, found := r.find(namespace, name)
	if !found {
		return nil, false
	}
	return &r.all[index], true
}

// All are the budgets, by namespace and then by name. The caller must not change them.
func (r Registry) All() []Budget { return r.all }

// Equal reports whether two registries have the same budgets.
func (r Registry) Equal(o Registry) bool {
	return slices.EqualFunc(r.all, o.all, func(a, b Budget) bool { return a.Equal(&b) })
}

// With is r with one more budget. Errors: those of Check, and AlreadyExists.
func (r Registry) With(b Budget) (Registry, error) {
	index, found := r.find(b.Namespace, b.Name)
	if found {
		return Registry{}, nameTaken(&b)
	}
	if errs := b.problems(); len(errs) > 0 {
		return Registry{}, errors.Join(errs...)
	}
	return Registry{slices.Insert(slices.Clone(r.all), index, b)}, nil
}

// Update is r with b instead of the budget of its name; every other field may change, as in Kubernetes. Errors:
// those of Check, and UnknownBudget.
func (r Registry) Update(b Budget) (Registry, error) {
	index, found := r.find(b.Namespace, b.Name)
	if !found {
		return Registry{}, noSuchBudget(&b)
	}
	if errs := b.problems(); len(errs) > 0 {
		return Registry{}, errors.Join(errs...)
	}
	all := slices.Clone(r.all)
	all[index] = b
	return Registry{all}, nil
}

// Without is r without a budget. Error: UnknownBudget.
func (r Registry) Without(namespace, name string) (Registry, error) {
	index, found := r.find(namespace, name)
	if !found {
		return Registry{}, noSuchBudget(&Budget{Namespace: namespace, Name: name})
	}
	return Registry{slices.Delete(slices.Clone(r.all), index, index+1)}, nil
}

// problems are the problems of Check as errors.
func (b *Budget) problems() (errs []error) {
	for _, p := range b.Check() {
		errs = append(errs, p)
	}
	return errs
}

func nameTaken(b *Budget) *Problem {
	return problem(b, AlreadyExists, NameField, "the name exists already")
}

func noSuchBudget(b *Budget) *Problem {
	return problem(b, UnknownBudget, NameField, "there is no such budget")
}
