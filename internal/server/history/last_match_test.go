package history_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The newest record that matches is found, also when it is pages back or the oldest; a dropped record is not.
func TestLast_FindsTheNewestOnAnyPage(t *testing.T) {
	h := history.New(nil)
	const nodes = 10_000
	for i := range nodes {
		h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: objects.NodeID(fmt.Sprint(i % (nodes / 2)))}})
	}
	of := func(id int) func(*events.Record) bool {
		return func(r *events.Record) bool { return r.Object == fmt.Sprint(id) }
	}
	compared := 0
	for _, id := range []int{0, 1, 903, 904, 905, nodes/2 - 1} {
		r, ok := h.Last(func(r *events.Record) bool { compared++; return of(id)(r) })
		assert.Assert(t, ok && r.Object == fmt.Sprint(id))
		assert.Equal(t, compared, nodes/2-id, "the newer of the two is found first")
		compared = 0
	}
	_, ok := h.Last(of(nodes))
	assert.Assert(t, !ok)

	s := history.DefaultSettings()
	s.Capacity = 10
	h.Configure(s)
	_, ok = h.Last(of(nodes/2 - 11))
	assert.Assert(t, !ok, "a dropped record was found")
	_, ok = h.Last(of(nodes/2 - 10))
	assert.Assert(t, ok)
	s.Disabled = true
	h.Configure(s)
	_, ok = h.Last(of(nodes/2 - 10))
	assert.Assert(t, !ok, "found while history is switched off")
}
