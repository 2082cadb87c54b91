package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// leafPartition is a partition with a node, a leaf and a New application in it.
func leafPartition(tb testing.TB, keep lifecycle.Lifetimes) (*Partition, *Application, time.Time) {
	tb.Helper()
	opt, now := DefaultOptions(), time.Unix(1_000_000_000, 0).UTC()
	opt.Lifetimes = keep
	root := configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{{Name: "leaf"}}}
	p := NewPartitionWithOptions(configs.Partition{Name: "default", Root: root}, opt)
	assert.NilError(tb, p.AddNode("n", vcores(1000), nil, true))
	assert.NilError(tb, p.AddApplication("app", security.User{Name: "ann"}, "root.leaf", nil, now))
	a, _ := p.Application("app")
	return p, a, now
}

func vcores(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}

// An event without a transition is a bug of the caller; the panic names it.
func TestApplicationStates_InvalidEventPanics(t *testing.T) {
	for from := range lifecycle.Resuming + 1 {
		for e := range lifecycle.ResumeApplication + 1 {
			to, ok := from.After(e)
			p, a, now := leafPartition(t, lifecycle.DefaultLifetimes())
			a.state = from
			panicked := func() (panicked any) {
				defer func() { panicked = recover() }()
				p.handleEvent(a, e, lifecycle.ReasonAllocated, now)
				return nil
			}()
			switch entered := p.TakeStateChanges(); {
			case !ok:
				assert.Equal(t, panicked, fmt.Sprintf("objects: application app has no transition for %s in state %s", e, from))
				assert.Equal(t, a.state, from)
				assert.Equal(t, len(entered)+len(a.log), 0)
			case from == to:
				assert.Equal(t, len(entered)+len(a.log), 0, "%s to itself is no state change", from)
			default:
				assert.Equal(t, panicked, nil)
				assert.Equal(t, a.state, to)
				assert.Equal(t, len(entered), 1)
				assert.Equal(t, entered[0],
					ApplicationStateChange{"app", "root.leaf", lifecycle.NewChange(to, lifecycle.ReasonAllocated, now)})
				assert.Equal(t, a.log[0], entered[0].Change)
			}
			assert.Equal(t, a.extra.deadlineEntry != nil, a.state == lifecycle.Completing && ok,
				"only a Completing application has a deadline")
		}
	}
}

// An application with one ask at a time enters two states with each.
func TestStateLog_KeepsFirstAndLastEntries(t *testing.T) {
	p, a, now := leafPartition(t, lifecycle.DefaultLifetimes())
	begin := now
	for i := range 1000 {
		now = now.Add(time.Second)
		ask := &Ask{Key: AllocationKey(fmt.Sprint("k", i)), App: "app", Amounts: vcores(1)}
		_, err := p.AddAsk(ask, now)
		assert.NilError(t, err)
		p.Cancel(ask.Key, now)
	}
	const maxLogEntries = 32 // APP-42
	log := a.StateLog()
	assert.Equal(t, len(log), maxLogEntries)
	assert.Equal(t, cap(log) <= 2*maxLogEntries, true, "the capacity is bounded too")
	for i, want := range []lifecycle.State{lifecycle.Accepted, lifecycle.Completing, lifecycle.Running,
		lifecycle.Completing} {
		assert.Equal(t, log[i].State, want)
	}
	assert.Equal(t, log[0].At(), begin.Add(time.Second))
	assert.Equal(t, log[maxLogEntries-1].State, lifecycle.Completing)
	assert.Equal(t, log[maxLogEntries-1].At(), now)
	assert.Equal(t, p.deadlines.completing.Len(), 1, "it is listed once, however often it was idle")
	assert.NilError(t, p.Check())
}
