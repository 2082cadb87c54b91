package ageing_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var start = time.Unix(1_000_000_000, 0)

// waiting returns a Core in which so many applications wait in root.a, all since the start.
func waiting(t *testing.T, n int, ageing string) *scheduler.Core {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues: [{name: a, properties: {priority.ageing: ` + ageing + `}}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	c := scheduler.New(conf.Partitions[0], nil)
	for i := range n {
		id := fmt.Sprintf("app-%04d", i)
		c.Step(start, scheduler.AddApplication{App: objects.AppID(id), Queue: "root.a", User: security.User{Name: "u"}})
		c.Step(start, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(id), App: objects.AppID(id),
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}})
	}
	return c
}

// raised counts the applications that are raised by a number.
func raised(c *scheduler.Core, by int32) (n int) {
	for a := range objects.EachApplication(c.Partition()) {
		if a.Raised() == by {
			n++
		}
	}
	return n
}

// Of 2,500 applications that are due at once, 1,000 rise in a command or a run, and the rest within a second.
func TestAdvance_RisesAreBounded(t *testing.T) {
	c := waiting(t, 2500, "5 per 1m up to 10")
	at := start.Add(time.Minute)
	for i, want := range []int{1000, 2000, 2500} {
		c.Schedule(at, 1)
		assert.Equal(t, raised(c, 5), want)
		c.Step(at, scheduler.Wake{}) // and not more at the same time
		assert.Equal(t, raised(c, 5), want)
		assert.NilError(t, c.Check())
		next, ok := c.NextDeadline()
		assert.Assert(t, ok)
		if i < 2 {
			assert.Equal(t, next, at.Add(100*time.Millisecond))
		}
		at = next
	}
	c.Schedule(start.Add(time.Hour), 1)
	assert.Equal(t, raised(c, 10), 1000)
	assert.Assert(t, at.Sub(start) <= time.Minute+2*time.Second)
}

// An application that is removed while it is raised leaves nothing behind.
func TestAdvance_RemovedApplication(t *testing.T) {
	c := waiting(t, 3, "5 per 1m up to 10")
	c.Schedule(start.Add(90*time.Second), 1)
	assert.Equal(t, raised(c, 5), 3)
	c.Step(start.Add(91*time.Second), scheduler.RemoveApplication{App: "app-0001"})
	assert.NilError(t, c.Check())
	assert.Equal(t, raised(c, 5), 2)
	c.Step(start.Add(92*time.Second), scheduler.Release{App: "app-0000", Key: "app-0000"})
	assert.NilError(t, c.Check())
	assert.Equal(t, raised(c, 5), 1)
	assert.Equal(t, raised(c, 0), 1) // it waits for nothing any more
}

func TestAdvance_NothingRisesBeforeItsTime(t *testing.T) {
	c := waiting(t, 1, "5 per 1m up to 10")
	c.Schedule(start.Add(time.Minute-1), 1)
	assert.Equal(t, raised(c, 0), 1)
	next, ok := c.NextDeadline()
	assert.Assert(t, ok && !next.After(start.Add(time.Minute)))
	c.Schedule(start.Add(time.Minute), 1)
	assert.Equal(t, raised(c, 5), 1)
	c.Schedule(start.Add(100*time.Hour), 1)
	assert.Equal(t, raised(c, 10), 1)
}
