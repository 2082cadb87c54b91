package objects

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// A second Preempt for the same ask leaves nothing held on the first node. The scheduler makes
// none:
// it does not evaluate nominated asks.
func TestNomination_SecondReplacesFirst(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	assert.NilError(t, p.AddNode("m", cores(4), nil, true))
	x, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: cores(1)}, epoch)
	assert.NilError(t, err)
	n, m := p.nodes["n"], p.nodes["m"]
	p.Preempt(x, n, nil, epoch)
	p.Preempt(x, m, nil, epoch.Add(time.Second))
	assert.Equal(t, p.Nomination(x), m)
	assert.Equal(t, len(p.Nominees()), 1)
	assert.Assert(t, n.heldForNominees.IsZero() && len(n.nominees) == 0, "node n holds %v for %d", n.heldForNominees, len(n.nominees))
	ended := p.TakeEndedNominations()
	assert.Equal(t, len(ended), 1)
	assert.Equal(t, ended[0].Node, n)
	assert.NilError(t, p.Check())
}
