package excerpt

import (
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// simplifyInputs tries the excerpt without an Oracle, without a former Core, and without the tags of asks, nodes and
// applications.
func (s *shortening) simplifyInputs() {
	for _, change := range []func(*recording.Begin){
		func(b *recording.Begin) { b.Restart = false },
		func(b *recording.Begin) { b.Oracle = 0 },
		func(b *recording.Begin) { b.Options.Lifetimes.Completed, b.Options.Lifetimes.Rejected = 0, 0 },
	} {
		e := s.best.clone()
		if begin, err := recording.DecodeBegin(e.begin); err == nil {
			change(begin)
			e.begin = recording.EncodeBegin(begin)
			if !slices.Equal(e.begin, s.best.begin) {
				s.try(e)
			}
		}
	}
	for _, bare := range []func(scheduler.Command) scheduler.Command{bareAsk, bareNode, bareApplication} {
		e, different := s.best.clone(), false
		for i := range e.steps {
			if x, err := e.steps[i].step(); err == nil && x.Command != nil {
				if command := recording.EncodeCommand(bare(x.Command)); !slices.Equal(command, e.steps[i].command) {
					e.steps[i].command, different = command, true
				}
			}
		}
		if different {
			s.try(e)
		}
	}
}

// bareAsk is a command without the tags of its ask.
func bareAsk(cmd scheduler.Command) scheduler.Command {
	bare := func(a *objects.Ask) *objects.Ask {
		changed := *a
		changed.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: a.TaskGroup(), RequiredNode: a.RequiredNode()})
		return &changed
	}
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		m.Ask = bare(m.Ask)
		return m
	case scheduler.SubmitAskWithClass:
		m.Ask = bare(m.Ask)
		return m
	case scheduler.ReportAllocation:
		m.Ask = bare(m.Ask)
		return m
	}
	return cmd
}

// bareNode is a command without the attributes of its node.
func bareNode(cmd scheduler.Command) scheduler.Command {
	if m, ok := cmd.(scheduler.AddNode); ok {
		m.Attributes = nil
		return m
	}
	return cmd
}

// bareApplication is a command without the tags of its application.
func bareApplication(cmd scheduler.Command) scheduler.Command {
	if m, ok := cmd.(scheduler.AddApplication); ok {
		m.Tags = nil
		return m
	}
	return cmd
}
