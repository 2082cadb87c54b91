package twin

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// relieve tells work to leave a node that has less than it holds (priority.md S3-63).
func (t *Twin) relieve(n *node) {
	if !t.pressure {
		return
	}
	c := t.count()
	left := c.available(n)
	for _, w := range filter(t.work, func(w *work) bool { return w.leaving && w.node == n.id }) {
		left = left.Add(w.ask.Amounts)
	}
	var scarce string
	worst := new(big.Rat)
	for name, q := range left.All() {
		if share := big.NewRat(-int64(q), max(1, int64(n.total.Get(name)))); q < 0 && share.Cmp(worst) > 0 {
			scarce, worst = name, share
		}
	}
	if scarce == "" {
		return
	}
	over := func(w *work) int64 {
		used, err := objects.ReadUsage(w.ask.Tags)
		if n, ok := used[scarce]; ok && err == nil {
			return int64(n - w.ask.Amounts.Get(scarce))
		}
		return 0
	}
	may := filter(t.work, func(w *work) bool { return w.node == n.id && !w.leaving && w.ask.RequiredNode == "" })
	slices.SortFunc(may, func(a, b *work) int {
		return cmp.Or(
			yes(a.ask.Priority >= 2_000_000_000)-yes(b.ask.Priority >= 2_000_000_000), yes(over(a) <= 0)-yes(over(b) <= 0),
			cmp.Compare(a.ask.Priority, b.ask.Priority), cmp.Compare(over(b), over(a)), cmp.Compare(a.ask.Key, b.ask.Key),
		)
	})
	var victims []*work
	for _, w := range may {
		if left.HasNegative() && slices.ContainsFunc(lacking(left), func(name string) bool { return w.ask.Amounts.Get(name) > 0 }) {
			left, victims = left.Add(w.ask.Amounts), append(victims, w)
		}
	}
	if left.HasNegative() {
		return
	}
	for _, w := range slices.Backward(slices.Clone(victims)) {
		if less := left.Sub(w.ask.Amounts); !less.HasNegative() {
			left, victims = less, slices.DeleteFunc(victims, func(x *work) bool { return x == w })
		}
	}
	for _, w := range victims {
		w.leaving, w.told = true, t.now
		t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.PreemptedByScheduler,
			Message: fmt.Sprintf("preempted by pressure: node %s has less than its work holds", n.id)})
	}
}

func lacking(left resources.Amounts) (names []string) {
	for name, q := range left.All() {
		if q < 0 {
			names = append(names, name)
		}
	}
	return names
}
