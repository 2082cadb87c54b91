package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func oneOfEach(names ...string) resources.Amounts {
	m := map[string]resources.Quantity{}
	for _, name := range names {
		m[name] = 1
	}
	return resources.FromMap(m)
}

func addAskFor(t *testing.T, p *Partition, key string, names ...string) error {
	t.Helper()
	_, err := p.AddAsk(&Ask{Key: AllocationKey(key), App: "app", Amounts: oneOfEach(names...)}, epoch)
	assert.NilError(t, p.Check())
	return err
}

// Asks may use up the names that only asks have. A node with a new resource is still registered,
// asks for that resource are admitted, and names that are released can be used by others.
func TestResourceNames_UnknownNamesDoNotExcludeNodes(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	for i := range resources.MaxAskNames {
		assert.NilError(t, addAskFor(t, p, fmt.Sprint("junk", i), "vcore", fmt.Sprint("example.com/junk", i)))
	}
	assert.ErrorContains(t, addAskFor(t, p, "one too many", "example.com/gpu"),
		`resource name "example.com/gpu": no node and no configuration knows it`)
	assert.NilError(t, p.AddNode("new", oneOfEach("vcore", "example.com/gpu"), nil, true))
	assert.NilError(t, p.Check())
	assert.NilError(t, addAskFor(t, p, "gpu", "example.com/gpu"), "a node has it")
	for i := range resources.MaxAskNames / 2 {
		_, ok := p.Cancel(AllocationKey(fmt.Sprint("junk", i)), epoch)
		assert.Assert(t, ok)
		assert.NilError(t, p.Check())
	}
	assert.Equal(t, p.names.AskOnly(), resources.MaxAskNames/2)
	known := p.names.Len()
	for i := range resources.MaxAskNames / 2 {
		assert.NilError(t, addAskFor(t, p, fmt.Sprint("more", i), fmt.Sprint("example.com/more", i)))
	}
	assert.Equal(t, p.names.Len(), known, "free indexes are used again")
}

// A name is released by its last holder, whatever that is.
func TestResourceNames_ReleasedWithLastHolder(t *testing.T) {
	quota := configs.Queue{Name: "a", Max: resources.LimitFromMap(map[string]resources.Quantity{"in-max": 0})}
	p := busyPartition(t, quota)
	has := func(name string) bool {
		assert.NilError(t, p.Check())
		_, ok := p.names.Lookup(name)
		return ok
	}
	assert.Assert(t, has("in-max"))

	assert.NilError(t, p.AddNode("x", oneOfEach("on-node", "shared"), nil, true))
	assert.NilError(t, p.AddForeign(Foreign{Key: "f", Node: "x", Amounts: oneOfEach("foreign")}))
	assert.NilError(t, addAskFor(t, p, "k", "shared"))
	assert.NilError(t, p.SetCapacity("x", oneOfEach("shared", "later")))
	assert.Assert(t, !has("on-node") && has("later") && has("foreign"))
	_, err := p.RemoveNode("x", epoch)
	assert.NilError(t, err)
	assert.Assert(t, !has("later") && !has("foreign"))
	assert.Assert(t, has("shared"), "the ask holds it")
	_, err = p.Resize("k", oneOfEach("resized"))
	assert.NilError(t, err)
	assert.Assert(t, !has("shared") && has("resized"))
	_, _, freed := p.RemoveApplication("app", epoch)
	assert.Assert(t, freed && !has("resized"))

	conf := p.Config()
	conf.Root.Children = nil
	assert.NilError(t, p.Reconfigure(conf, nil))
	assert.Assert(t, !has("in-max"))
}

// A rejected request holds no name.
func TestResourceNames_RejectedRequestsHoldNone(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	enormous := resources.FromMap(map[string]resources.Quantity{"new": 1<<63 - 1})
	_, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: enormous}, epoch)
	assert.ErrorIs(t, err, ErrOverflow)
	assert.NilError(t, addAskFor(t, p, "k2", "vcore"))
	_, err = p.Resize("k2", enormous)
	assert.ErrorIs(t, err, ErrOverflow)
	assert.ErrorIs(t, p.AddForeign(Foreign{Key: "f", Node: "n", Amounts: enormous}), ErrOverflow)
	assert.ErrorIs(t, p.SetCapacity("n", enormous), ErrOverflow)
	assert.ErrorIs(t, p.AddNode("n9", enormous, nil, true), ErrOverflow)
	assert.NilError(t, p.Check())
	_, known := p.names.Lookup("new")
	assert.Assert(t, !known)
}

// Peaks are shown by the name that they were recorded with, whatever has the index now.
func TestResourceNames_PeaksSurviveNumberReuse(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	assert.NilError(t, p.AddNode("x", oneOfEach("old"), nil, true))
	assert.NilError(t, addAskFor(t, p, "k", "old"))
	k, _ := p.names.Lookup("old")
	a := p.apps["app"]
	_, err := p.PlaceReported("k", "x", epoch)
	assert.NilError(t, err)
	_, err = p.RemoveNode("x", epoch)
	assert.NilError(t, err)
	assert.NilError(t, p.AddNode("y", oneOfEach("new"), nil, true))
	again, _ := p.names.Lookup("new")
	assert.Equal(t, again, k, "the index is used again")
	assert.Equal(t, p.Peak(a).Get("old"), resources.Quantity(1))
	assert.Equal(t, p.Peak(a).Get("new"), resources.Quantity(0))
	assert.NilError(t, p.AddNode("x", oneOfEach("old"), nil, true))
	assert.Equal(t, p.Peak(a).Get("old"), resources.Quantity(1))
}

// The queue of a removed application may be the last to hold a name in the peak of the application. Its removal with
// the application must not leave a quantity without a name.
func TestResourceNames_PeakOfTheLastApplicationOfADrainingQueue(t *testing.T) {
	leaf := configs.Queue{Name: "a", Max: resources.LimitFromMap(map[string]resources.Quantity{"rare": 5})}
	p := busyPartition(t, leaf)
	assert.NilError(t, p.AddNode("x", oneOfEach("vcore"), nil, true))
	_, err := p.AddReported(&Ask{Key: "k", App: "app", Amounts: oneOfEach("rare", "vcore")}, "x", epoch)
	assert.NilError(t, err)
	conf := p.Config()
	conf.Root.Children = nil
	assert.NilError(t, p.Reconfigure(conf, nil))
	_, _, ok := p.RemoveApplication("app", epoch)
	assert.Assert(t, ok)
	assert.NilError(t, p.Check())
	_, known := p.names.Lookup("rare")
	assert.Assert(t, !known, "nothing holds it any more")
	for e := range p.Completed().All() {
		assert.Equal(t, e.Peak.Get("rare"), resources.Quantity(1))
	}
	assert.Equal(t, p.Completed().Len(), 1)
}
