package objects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// lives is the table of behaviour.md 4.1 as a picture: a row for each state, a column for
// each event; a dot where nothing can happen.
const lives = `
            run        reject    complete    fail     expire   resume
New         Accepted   Rejected  .           Failing  .        Resuming
Accepted    Running    .         Completing  Failing  .        Resuming
Running     Running    .         Completing  Failing  .        .
Rejected    .          .         .           .        Expired  .
Completing  Running    .         Completed   .        .        .
Completed   .          .         .           .        Expired  .
Failing     .          .         .           Failed   .        .
Failed      .          .         .           .        Expired  .
Expired     .          .         .           .        .        .
Resuming    Accepted   .         .           .        .        .
`

func TestEveryStateAndEveryEvent(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(lives), "\n")
	assert.Equal(t, len(lines), 1+int(states), "a row for each state")
	columns := strings.Fields(lines[0])
	assert.Equal(t, len(columns), int(events), "a column for each event")
	for i, line := range lines[1:] {
		from, row := State(i), strings.Fields(line)
		assert.Equal(t, row[0], from.String())
		for e := range events {
			t.Run(fmt.Sprintf("4.1 %s happens to an application that is %s", e, from), func(t *testing.T) {
				assert.Equal(t, e.String(), columns[e]+"Application")
				got := "."
				if to, ok := from.After(e); ok {
					got = to.String()
				}
				assert.Equal(t, got, row[1+e])
			})
		}
	}
}

// leafWith is a partition with a node, a leaf and a New application in it.
func leafWith(tb testing.TB, keep Lifetimes) (*Partition, *Application, time.Time) {
	tb.Helper()
	opt, now := DefaultOptions(), time.Unix(1_000_000_000, 0).UTC()
	opt.Lifetimes = keep
	root := configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{{Name: "leaf"}}}
	p := NewWith(configs.Partition{Name: "default", Root: root}, opt)
	assert.NilError(tb, p.AddNode("n", few(1000), nil, true))
	assert.NilError(tb, p.AddApplication("app", security.User{Name: "ann"}, "root.leaf", nil, now))
	a, _ := p.Application("app")
	return p, a, now
}

func few(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}

// What the table does not have is a bug of ours, and says what happened.
func TestAnEventThatCannotHappenPanics(t *testing.T) {
	for from := range states {
		for e := range events {
			to, ok := from.After(e)
			p, a, now := leafWith(t, DefaultLifetimes())
			a.state = from
			said := func() (said any) {
				defer func() { said = recover() }()
				p.move(a, e, WasPlaced, now)
				return nil
			}()
			switch entered := p.TakeEntered(); {
			case !ok:
				assert.Equal(t, said, fmt.Sprintf("objects: %s happens to application app, which is %s", e, from))
				assert.Equal(t, a.state, from)
				assert.Equal(t, len(entered)+len(a.log), 0)
			case from == to:
				assert.Equal(t, len(entered)+len(a.log), 0, "staying %s is no entry", from)
			default:
				assert.Equal(t, said, nil)
				assert.Equal(t, a.state, to)
				assert.Equal(t, len(entered), 1)
				assert.Equal(t, entered[0], Entered{"app", "root.leaf", StateChange{State: to, Why: WasPlaced, at: now.UnixNano()}})
				assert.Equal(t, a.log[0], entered[0].StateChange)
			}
			assert.Equal(t, a.waiting != nil, a.state == Completing && ok, "only who completes waits to be completed")
		}
	}
}

// An application that asks for one thing at a time enters two states with each.
func TestALongLogKeepsItsBeginningAndItsEnd(t *testing.T) {
	p, a, now := leafWith(t, DefaultLifetimes())
	begin := now
	for i := range 1000 {
		now = now.Add(time.Second)
		ask := &Ask{Key: AllocationKey(fmt.Sprint("k", i)), App: "app", Amounts: few(1)}
		_, err := p.AddAsk(ask, now)
		assert.NilError(t, err)
		p.Cancel(ask.Key, now)
	}
	log := a.StateLog()
	assert.Equal(t, len(log), longestLog)
	assert.Equal(t, cap(log) <= 2*longestLog, true, "it does not grow behind our back either")
	for i, want := range []State{Accepted, Completing, Running, Completing} {
		assert.Equal(t, log[i].State, want)
	}
	assert.Equal(t, log[0].At(), begin.Add(time.Second))
	assert.Equal(t, log[longestLog-1].State, Completing)
	assert.Equal(t, log[longestLog-1].At(), now)
	assert.Equal(t, p.completing.Len(), 1, "it waits once, however often it was idle")
	assert.NilError(t, p.Check())
}
