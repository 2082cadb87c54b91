package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// A pass over gangs evaluates an application only while asks of it wait for placeholders, and once for each change that
// may help: thousands of placeholders that are placed, and asks that no node accepts, cost nothing.
func TestGangs_EvaluatesWhatMayHaveAResult(t *testing.T) {
	p, _, now := leafPartition(t, lifecycle.DefaultLifetimes())
	evaluated := func() (n int) {
		p.Gangs().MayReplace(func(_, _ []*Allocation) bool {
			n++
			return false
		})
		return n
	}
	add := func(key AllocationKey, placeholder bool) *Allocation {
		x, err := p.AddAsk(&Ask{Key: key, App: "app", Amounts: vcores(1), Placeholder: placeholder,
			Details: &AskDetails{TaskGroup: "g"}}, now)
		assert.NilError(t, err)
		return x
	}
	for i := range 3 {
		y := add(AllocationKey(fmt.Sprint("p", i)), true)
		assert.NilError(t, p.Place(y, p.nodes["n"], now))
		assert.Assert(t, len(p.journal.gangs.candidates) == 0 && evaluated() == 0, "no ask waits")
	}
	add("k", false)
	assert.Equal(t, evaluated(), 1)
	assert.Equal(t, evaluated(), 0, "nothing has changed")
	p.Release("p0", now)
	assert.Equal(t, evaluated(), 1, "resources are free")
	assert.NilError(t, p.Place(add("p3", true), p.nodes["n"], now))
	assert.Equal(t, evaluated(), 1, "there is another placeholder")
	p.Cancel("k", now)
	p.Release("p1", now)
	assert.Equal(t, evaluated(), 0, "no ask waits any more")
	assert.NilError(t, p.Check())
}
