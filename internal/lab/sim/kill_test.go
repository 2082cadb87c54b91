package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// killable is a scheduler of this process in the place of one that can be killed: the client drops what it sends after
// the kill, and the next one starts empty.
type killable struct {
	opt     loop.Options
	server  *sim.Server
	killed  bool
	kill    error // of Kill
	restart error // of Restart
	nowhere bool  // Restart returns an address without a scheduler
}

func (k *killable) Kill() error {
	k.killed = true
	return k.kill
}

func (k *killable) Restart(ctx context.Context) (address string, err error) {
	if !k.killed {
		return "", errors.New("it was not killed")
	}
	if k.restart != nil {
		return "", k.restart
	}
	k.killed = false
	if k.nowhere {
		return "127.0.0.1:1", nil
	}
	if err := k.server.Close(); err != nil {
		return "", err
	}
	if k.server, err = sim.Serve(ctx, sim.ServerOptions{Loop: k.opt}); err != nil {
		return "", err
	}
	return k.server.Address(), nil
}

// startKillable starts a scheduler, and a client that kills it after every n answers.
func startKillable(t *testing.T, clock *sim.Clock, n int) (*killable, *sim.Client, *[]sim.Recovery) {
	t.Helper()
	ctx := testContext(t)
	k := &killable{opt: loop.Options{Now: clock.Now}}
	var err error
	k.server, err = sim.Serve(ctx, sim.ServerOptions{Loop: k.opt})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, k.server.Close()) })
	c, err := sim.Dial(ctx, k.server.Address(), "test")
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, c.Close()) })
	var all []sim.Recovery
	c.KillEvery(n, k, func(r sim.Recovery) { all = append(all, r) })
	assert.NilError(t, c.Register(ctx, sim.OpenbConfig()))
	return k, c, &all
}

// A replay with kills makes the decisions of one without: they follow from what the client reports, and from nothing
// else that the killed scheduler has known.
func TestReplay_KillsChangeNoDecision(t *testing.T) {
	nodes, tasks := sample(t)
	for name, mode := range map[string]func(*sim.Replay, context.Context) error{
		"fill": (*sim.Replay).Fill, "lifetimes": (*sim.Replay).Lifetimes,
	} {
		want, err := os.ReadFile("testdata/" + name + ".txt")
		assert.NilError(t, err)
		for _, n := range []int{1, 2, 7, 50} {
			t.Run(fmt.Sprintf("%s, a kill every %d answers", name, n), func(t *testing.T) {
				ctx, clock := testContext(t), sim.NewClock()
				k, c, recoveries := startKillable(t, clock, n)
				r := sim.Replay{Client: c, Clock: clock, Nodes: nodes, Tasks: tasks}
				r.Audit = func(ctx context.Context) error { return k.server.Audit(ctx, c) }
				assert.NilError(t, mode(&r, ctx))
				var got strings.Builder
				for _, e := range c.Log() {
					if e.Kind == sim.Placed {
						fmt.Fprintf(&got, "%s %s\n", e.Key, e.Node)
					}
				}
				assert.Equal(t, got.String(), string(want))
				_, err := c.Balance()
				assert.NilError(t, err)
				counts := c.Counts()
				answers := len(nodes) + len(tasks) + counts.Allocated + counts.Released
				assert.Assert(t, len(*recoveries) >= counts.Allocated/n && len(*recoveries) <= answers/n, "%d recoveries",
					len(*recoveries))
				assert.Equal(t, (*recoveries)[len(*recoveries)-1].Nodes, len(nodes))
			})
		}
	}
}

func TestReplay_FailedKillOrRestartEndsIt(t *testing.T) {
	nodes, tasks := sample(t)
	for want, fail := range map[string]func(*killable){
		"killing the scheduler: no such process":        func(k *killable) { k.kill = errors.New("no such process") },
		"connecting to 127.0.0.1:1: connection error: ": func(k *killable) { k.nowhere = true },
		"starting the scheduler again: no such process": func(k *killable) { k.restart = errors.New("no such process") },
	} {
		clock := sim.NewClock()
		k, c, _ := startKillable(t, clock, 30)
		fail(k)
		r := sim.Replay{Client: c, Clock: clock, Nodes: nodes, Tasks: tasks}
		assert.ErrorContains(t, r.Fill(testContext(t)), want)
	}
}
