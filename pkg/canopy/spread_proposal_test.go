package canopy_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// Propose is part of spread.Store.
func (c coordinated) Propose(ctx context.Context, epoch int64, text []byte) (int64, error) {
	if _, now := c.g.stores.Coordinators.Leader(); now != epoch {
		return 0, spread.ErrNotCoordinator
	}
	return c.Store.Propose(ctx, c.g.shared.Elect(), text)
}

// generations are those in force, by partition.
func (g *spreadGroup) generations(m *canopy.SpreadMember) map[string]uint64 {
	g.t.Helper()
	out := map[string]uint64{}
	for _, p := range g.view(m).Partitions {
		out[p.Name] = p.Generation
	}
	return out
}

// parents is a configuration in which root.q has a child: a queue with applications cannot become that.
func parents(names ...string) string {
	return strings.ReplaceAll(partitions(names...), "name: q}", "name: q, queues: [{name: below}]}")
}

// remove removes the application of connect.
func (r *partitionRM) remove(partition string) error {
	return r.calls.UpdateApplication(&si.ApplicationRequest{RmID: r.id, Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app", PartitionName: partition}}})
}

// A configuration to which one partition objects, at whichever member, is in force in none, and not stored. When the reason is gone it is accepted.
func TestSpread_AConfigurationThatOnePartitionRefuses(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2"))
	a, b := g.start("a"), g.start("b")
	v := g.balanced(map[string]int{"a": 1, "b": 1})
	coordinator := g.members[v.Coordinator]
	by, _ := v.leads()
	for _, m := range []*canopy.SpreadMember{a, b} { // with an application in root.q of the partition that it leads, and that the other one does not
		name := "a"
		if m == b {
			name = "b"
		}
		p := by[name][0]
		r := g.connect(m, p)
		before := g.stores.Generation()
		g.configure(parents("p1", "p2"))
		_, err := coordinator.ReloadFile(groupContext(t))
		assert.ErrorIs(t, err, canopy.ErrRefused)
		assert.ErrorContains(t, err, "member "+name+": partition "+p)
		assert.ErrorContains(t, err, "root.q")
		assert.Equal(t, g.stores.Generation(), before)
		assert.Equal(t, g.shared.State().Proposal, int64(0), "what is decided upon is not proposed any more")
		assert.NilError(t, r.remove(p))
	}
	before := g.stores.Generation()
	eventually(t, func() bool {
		_, err := coordinator.ReloadFile(groupContext(t))
		return err == nil
	})
	assert.Equal(t, g.stores.Generation(), before+1)
	eventually(t, func() bool {
		return g.generations(a)[by["a"][0]] == before+1 && g.generations(b)[by["b"][0]] == before+1
	})
}

// A partition that could not become what a generation says when that came into force stays as it is, and follows when it can. The others do at once.
func TestSpread_APartitionThatCannotFollow(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2"))
	a := g.start("a")
	g.balanced(map[string]int{"a": 2})
	r := g.connect(a, "p1")
	assert.NilError(t, g.stores.Decide(parents("p1", "p2")))
	eventually(t, func() bool {
		return g.logs.FilterMessage("the configuration of the group is not in force in a partition: it is tried again").Len() == 1 && g.generations(a)["p2"] == 2
	})
	assert.Equal(t, g.generations(a)["p1"], uint64(1))
	assert.NilError(t, r.remove("p1"))
	eventually(t, func() bool { return g.generations(a)["p1"] == 2 })
}

// A coordinator that begins with another file than the generation in force asks before it changes anything.
func TestSpread_ACoordinatorWithAnotherFile(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2"))
	a := g.start("a")
	g.balanced(map[string]int{"a": 2})
	r := g.connect(a, "p1")
	g.configure(parents("p1", "p2"))
	g.stores.Coordinators.Expire()
	refusals := func() int { return g.logs.FilterMessageSnippet("configuration refused").Len() }
	eventually(t, func() bool { return refusals() > 0 })
	assert.Equal(t, g.stores.Generation(), uint64(1))
	code, text := g.get(a, "/ws/v1/partition/p2/queue/root.q")
	assert.Equal(t, code, http.StatusOK, text)
	assert.Assert(t, strings.Contains(text, `"isLeaf":true`), text)
	assert.NilError(t, r.remove("p1"))
	eventually(t, func() bool { // the next coordinator asks again
		g.stores.Coordinators.Expire()
		return g.stores.Generation() == 2
	})
}

// deaf is the store of a member that does not learn what is proposed, until it is told.
type deaf struct {
	spread.Store
	hears <-chan struct{}
}

// Proposed is part of spread.Store.
func (d deaf) Proposed(ctx context.Context, number int64) ([]byte, error) {
	select {
	case <-d.hears:
		return d.Store.Proposed(ctx, number)
	default:
		return nil, errors.New("the store is not reached")
	}
}

// A configuration that a member has not checked in time is not in force, and the error names the member.
func TestSpread_AMemberThatDoesNotCheck(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2"))
	hears := make(chan struct{})
	g.wrap = func(name string, s spread.Store) spread.Store {
		if name == "b" {
			return deaf{s, hears}
		}
		return s
	}
	a := g.start("a")
	g.start("b")
	g.balanced(map[string]int{"a": 1, "b": 1})
	coordinator := g.members[g.view(a).Coordinator]
	g.configure(partitions("p1", "p2", "p3"))
	ctx, cancel := context.WithTimeout(groupContext(t), time.Second)
	defer cancel()
	_, err := coordinator.ReloadFile(ctx)
	assert.ErrorIs(t, err, canopy.ErrBusy)
	assert.ErrorContains(t, err, "it was not checked by the members b")
	assert.Equal(t, g.stores.Generation(), uint64(1))
	close(hears)
	_, err = coordinator.ReloadFile(groupContext(t))
	assert.NilError(t, err)
	assert.Equal(t, g.stores.Generation(), uint64(2))
}
