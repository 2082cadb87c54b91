package excerpt

import (
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// pin tries the excerpt with allocations that are reported as running on their nodes in place of asks that are placed
// there, so that a node can be left out with what runs on it and all else stays where it is. Those of the last step
// stay asks.
func (s *shortening) pin() {
	submitted, placed := map[objects.AllocationKey]int{}, make([][]scheduler.Command, s.best.Len())
	var gone []int
	err := s.best.replay(nil, func(i int, p playback.Played) bool {
		if key := submits(p.Step.Command); key != "" {
			submitted[key] = i
		}
		if i == s.best.Len()-1 {
			return true
		}
		for _, e := range p.Effects {
			x, ok := e.(scheduler.Allocated)
			if !ok {
				continue
			}
			if at, ok := submitted[x.Ask.Key]; ok {
				if cmd, ok := reported(s.best.steps[at], x.Node); ok {
					placed[i], gone = append(placed[i], cmd), append(gone, at)
				}
				delete(submitted, x.Ask.Key)
			}
		}
		return p.Panic == ""
	})
	if err != nil || len(gone) == 0 {
		return
	}
	without := map[int]bool{}
	for _, i := range gone {
		without[i] = true
	}
	e := s.best.clone()
	e.steps = nil
	for i, x := range s.best.steps {
		for _, cmd := range placed[i] {
			r := cmd.(scheduler.ReportAllocation)
			e.steps = append(e.steps,
				step{at: x.at, command: recording.EncodeCommand(cmd), about: subject{string(r.Ask.App), string(r.Node)}})
		}
		if !without[i] && len(placed[i]) == 0 { // a call that has placed these could place others now
			e.steps = append(e.steps, x)
		}
	}
	s.try(e)
}

// submits is the key of the ask that a command submits; empty: it submits none, or one of a gang.
func submits(cmd scheduler.Command) objects.AllocationKey {
	var ask *objects.Ask
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		ask = m.Ask
	case scheduler.SubmitAskWithClass:
		ask = m.Ask
	}
	if ask == nil || ask.Placeholder || ask.TaskGroup() != "" {
		return ""
	}
	return ask.Key
}

// reported is the report of what a step asks for, on a node.
func reported(s step, node objects.NodeID) (cmd scheduler.Command, ok bool) {
	x, err := s.step() // another copy: a Core may have changed the one that it got
	if err != nil {
		return nil, false
	}
	switch m := x.Command.(type) {
	case scheduler.SubmitAsk:
		return scheduler.ReportAllocation{Ask: m.Ask, Node: node}, true
	case scheduler.SubmitAskWithClass:
		return scheduler.ReportAllocation{Ask: m.Ask, Node: node, Class: m.Class}, true
	}
	return nil, false
}
