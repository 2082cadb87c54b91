package sim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Victim is an allocation that the scheduler has preempted. It holds its resources until the client
// confirms its release (PRE-1).
type Victim struct {
	Key       objects.AllocationKey
	App       objects.AppID
	Amounts   resources.Amounts
	Preemptor objects.AllocationKey // the ask it was preempted for; empty: the message names none
}

// preemptorPattern finds the preemptor in the message of a release.
var preemptorPattern = regexp.MustCompile(`\bfor ask (\S+)`)

// onPreempted records a victim. The caller must hold the lock.
func (c *Client) onPreempted(t *askState, why string) {
	if t.preempting {
		c.fail("%s was preempted twice: %s", t.Key, why)
		return
	}
	t.preempting = true
	v := Victim{Key: t.Key, App: t.App, Amounts: t.Amounts}
	if m := preemptorPattern.FindStringSubmatch(why); m != nil {
		v.Preemptor = objects.AllocationKey(m[1])
	}
	c.victims = append(c.victims, v)
	c.counts.Preempted++
}

// AllVictims returns all victims so far, in the order of preemption.
func (c *Client) AllVictims() []Victim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.victims)
}

// UnconfirmedVictims returns the victims whose release is not confirmed, in the order of preemption,
// without those whose release the client requested itself.
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
			return fmt.Errorf("%s was not preempted", key)
		}
		to.AllocationsToRelease = append(to.AllocationsToRelease,
			t.release(si.TerminationType_PREEMPTED_BY_SCHEDULER, "terminated"))
		c.removeRunning(t, Preempted)
	}
	return nil
}
