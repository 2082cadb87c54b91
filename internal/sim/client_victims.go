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
	Key       objects.AllocationKey
	App       objects.AppID
	Node      objects.NodeID
	Amounts   resources.Amounts
	Priority  int32
	Message   string                // as it was told
	Preemptor objects.AllocationKey // the ask that has the right; empty: it was not said
}

// preemptorPattern finds in the reason the ask that a victim leaves for.
var preemptorPattern = regexp.MustCompile(`\bfor ask (\S+)`)

// onPreempted notes that an allocation was told to leave. Requires: the lock.
func (c *Client) onPreempted(t *askState, why string) {
	if t.preempting {
		c.fail("%s was told to leave twice: %s", t.Key, why)
		return
	}
	t.preempting = true
	v := Victim{Key: t.Key, App: t.App, Node: t.node, Amounts: t.Amounts, Priority: t.Priority, Message: why}
	if m := preemptorPattern.FindStringSubmatch(why); m != nil {
		v.Preemptor = objects.AllocationKey(m[1])
	}
	c.victims = append(c.victims, v)
	c.counts.Preempted++
}

// AllVictims are all who were ever told to leave, in the order in which they were told.
func (c *Client) AllVictims() []Victim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.victims)
}

// UnconfirmedVictims are those who were told to leave and have not left, in the order in which they
// were told. Those that were released on other grounds meanwhile are not among them.
func (c *Client) UnconfirmedVictims() []Victim {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Victim
	for _, v := range c.victims {
		if c.askStates[v.Key] != nil && c.askStates[v.Key].preempting && !c.releasing[v.Key] {
			out = append(out, v)
		}
	}
	return out
}

func (c *Client) recordConfirmed(keys []objects.AllocationKey, to *si.AllocationReleasesRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		t, ok := c.askStates[key]
		if !ok || !t.preempting {
			return fmt.Errorf("%s was not told to leave", key)
		}
		to.AllocationsToRelease = append(to.AllocationsToRelease,
			t.release(si.TerminationType_PREEMPTED_BY_SCHEDULER, "it has left"))
		c.removeRunning(t, Preempted)
	}
	return nil
}
