package excerpt

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// subject names what a command is about: an application or a node. Steps about the same are left out together.
type subject struct{ application, node string }

func subjectOf(cmd scheduler.Command) subject {
	app := func(name string) subject { return subject{application: name} }
	node := func(name string) subject { return subject{node: name} }
	switch m := cmd.(type) {
	case scheduler.AddApplication:
		return app(string(m.App))
	case scheduler.RemoveApplication:
		return app(string(m.App))
	case scheduler.SubmitAsk:
		return app(string(m.Ask.App))
	case scheduler.SubmitAskWithClass:
		return app(string(m.Ask.App))
	case scheduler.ReportAllocation:
		return app(string(m.Ask.App))
	case scheduler.Release:
		return app(string(m.App))
	case scheduler.AddNode:
		return node(string(m.Node))
	case scheduler.SetCapacity:
		return node(string(m.Node))
	case scheduler.SetAttributes:
		return node(string(m.Node))
	case scheduler.SetSchedulable:
		return node(string(m.Node))
	case scheduler.RemoveNode:
		return node(string(m.Node))
	case scheduler.ReportForeign:
		return node(string(m.Foreign.Node))
	case scheduler.Operate:
		return subject{string(m.App), string(m.Node)}
	}
	return subject{}
}
