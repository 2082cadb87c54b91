package sim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Victim is an allocation that the scheduler has told to leave, because somebody else has a
// right to its place. It keeps the place until the client confirms that it has left.
type Victim struct {
	Key      objects.AllocationKey
	App      objects.AppID
	Node     objects.NodeID
	Took     resources.Amounts
	Priority int32
	Why      string                // as it was told
	For      objects.AllocationKey // the ask that has the right; empty: it was not said
}

// onBehalf finds in the reason the ask that a victim leaves for.
var onBehalf = regexp.MustCompile(`\bfor ask (\S+)`)

// hearToLeave notes that an allocation was told to leave. Requires: the lock.
func (c *Client) hearToLeave(t *task, why string) {
	if t.told {
		c.protest("%s was told to leave twice: %s", t.Key, why)
		return
	}
	t.told = true
	v := Victim{Key: t.Key, App: t.App, Node: t.node, Took: t.Amounts, Priority: t.Priority, Why: why}
	if m := onBehalf.FindStringSubmatch(why); m != nil {
		v.For = objects.AllocationKey(m[1])
	}
	c.victims = append(c.victims, v)
	c.counts.Preempted++
}

// Told are all who were ever told to leave, in the order in which they were told.
func (c *Client) Told() []Victim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.victims)
}

// Victims are those who were told to leave and have not left, in the order in which they
// were told. Those that were released on other grounds meanwhile are not among them.
func (c *Client) Victims() []Victim {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Victim
	for _, v := range c.victims {
		if c.work[v.Key] != nil && c.work[v.Key].told && !c.leaving[v.Key] {
			out = append(out, v)
		}
	}
	return out
}

func (c *Client) noteLeft(keys []objects.AllocationKey, to *si.AllocationReleasesRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		t, ok := c.work[key]
		if !ok || !t.told {
			return fmt.Errorf("%s was not told to leave", key)
		}
		to.AllocationsToRelease = append(to.AllocationsToRelease,
			t.release(si.TerminationType_PREEMPTED_BY_SCHEDULER, "it has left"))
		c.leave(t, Preempted)
	}
	return nil
}
