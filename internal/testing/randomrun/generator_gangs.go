package randomrun

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// GangRun returns the random run of a seed with gangs: applications declare them, half of the ordinary asks are members
// of task groups, and the resource manager releases placeholders as it does when the core has ordered it.
func GangRun(seed uint64, steps int) Run {
	s := RandomRun(seed, steps)
	s.addGangs(rand.NewPCG(seed, 57))
	if seed%3 == 0 {
		s.AddTopology()
	}
	return s
}

func (s *Run) addGangs(source rand.Source) {
	a := &Generator{Rand: rand.New(source)}
	groups := Pick(a, []string{"g"}, []string{"g", "h"})
	var recent []*objects.Ask // placeholders
	steps := s.Steps
	s.Steps = nil
	for _, step := range steps {
		switch m := step.Command.(type) {
		case scheduler.AddApplication:
			m.Gang = a.gang()
			step.Command = m
		case scheduler.SubmitAsk:
			m.Ask = a.gangMember(m.Ask, groups)
			if m.Ask.Placeholder {
				recent = append(recent, m.Ask)
			}
			step.Command = m
		}
		s.Steps = append(s.Steps, step)
		if step.Command == nil && len(recent) > 0 {
			for range a.IntN(3) {
				s.Steps = append(s.Steps, a.confirmation(&recent))
			}
		}
	}
}

// gang returns what an application declares about its gang, often nothing.
func (a *Generator) gang() gangs.Spec {
	s := gangs.Spec{Timeout: Pick(a, 0, 2*time.Second, 20*time.Second, 20*time.Second, 2*time.Minute),
		Style: Pick(a, gangs.Soft, gangs.Hard)}
	if !a.OneIn(3) {
		s.Requested = resources.FromMap(map[string]resources.Quantity{"vcore": Pick[resources.Quantity](a, 1, 2, 3, 4, 8),
			"memory": Pick[resources.Quantity](a, 0, 1, 2)})
	}
	if a.OneIn(3) {
		s.Virtual = a.virtualGroups()
	}
	if a.OneIn(6) {
		s.Created = StartTime().Add(time.Duration(a.IntN(600)) * time.Second)
	}
	return s
}

// virtualGroups returns task groups whose members are placed together.
func (a *Generator) virtualGroups() []gangs.VirtualGroup {
	groups := []gangs.VirtualGroup{{Name: "g", MinMember: 1 + a.IntN(3)}}
	if a.OneIn(3) {
		groups = append(groups, gangs.VirtualGroup{Name: "h", MinMember: 1 + a.IntN(2)})
	}
	return groups
}

// gangMember returns the ask, perhaps as a member of a task group, or as a placeholder.
func (a *Generator) gangMember(ask *objects.Ask, groups []string) *objects.Ask {
	if a.OneIn(2) {
		return ask
	}
	member := *ask
	member.Placeholder = ask.Placeholder || a.OneIn(3)
	member.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: Pick(a, groups...),
		RequiredNode: ask.RequiredNode(), Tags: ask.Tags()})
	return &member
}

// confirmation releases a placeholder, mostly an early one, as the resource manager does at the request of the core.
func (a *Generator) confirmation(recent *[]*objects.Ask) Step {
	i := a.IntN(1 + a.IntN(len(*recent)))
	was := (*recent)[i]
	if !a.OneIn(5) {
		*recent = slices.Delete(*recent, i, i+1)
		if len(*recent) == 0 {
			*recent = append(*recent, was)
		}
	}
	return Step{
		After: Pick(a, 0, time.Millisecond, time.Second),
		Command: scheduler.Release{App: was.App, Key: was.Key,
			Type: Pick(a, scheduler.PlaceholderReplaced, scheduler.PlaceholderReplaced, scheduler.TimedOut,
				scheduler.StoppedByRM)},
	}
}
