package rmproxy

import (
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

func badReports() []badInput {
	return []badInput{
		{
			what: "ASK-20 a reported allocation on an unknown node", allocations: asks(on("n9", fakerm.Ask("k", "app"))),
			answers: []string{"rejected ask k (app): unknown node n9"},
		},
		{
			what:        "ASK-20 a report of a pending ask on an unknown node",
			allocations: asks(on("n9", sized(1000, known("waits")))),
			answers:     []string{"rejected ask waits (app): unknown node n9"},
		},
		{
			what: "ASK-67 a reported allocation of an unknown application", allocations: asks(on("n1", fakerm.Ask("k", "none"))),
			events: []string{"k (none) orphaned on n1: unknown application none"}, used: "n1=20 n2=10",
		},
		{
			what:        "ASK-14 a reported allocation without resources, and one with negative ones",
			allocations: asks(on("n1", sized(0, fakerm.Ask("zero", "app"))), on("n1", sized(-1, fakerm.Ask("negative", "app")))),
			answers: []string{"rejected ask zero (app): contains no resources",
				"rejected ask negative (app): contains negative resources"},
		},
		{
			what:        "ASK-41 a reported allocation exceeds its node",
			allocations: asks(on("n1", sized(200, fakerm.Ask("k", "app")))),
			answers:     []string{"allocated k (app) on n1"}, used: "n1=210 n2=10",
		},
		{
			what:        "CON-24 a reported allocation has a constraint that cannot be read",
			allocations: asks(on("n1", taggedAsk(fakerm.Ask("k", "app"), constraints.SelectorTag, "zone=a"))),
			answers:     []string{"allocated k (app) on n1"}, used: allUsed,
			events: []string{"refused constraints of allocation k: tag canopy.scheduler/nodeSelector: "},
			counts: counted("refused-command", 1),
		},
		{
			what: "ASK-43 a pending ask is reported on a node", allocations: asks(on("n2", sized(1000, known("waits")))),
			answers: []string{"allocated waits (app) on n2"}, used: "n1=10 n2=1010",
		},
	}
}

// knownKeys are messages about a known key: what contradicts it is rejected as a whole.
func knownKeys() []badInput {
	contradicts := func(what, key, stays string, change func(*si.Allocation)) badInput {
		x := sized(50, known(key))
		change(x)
		return badInput{
			what: what, allocations: asks(x),
			answers: []string{"rejected ask " + key + " (app): key " + key + " of application app is known: its " + stays},
		}
	}
	ignored := func(what, event string, x *si.Allocation) badInput {
		return badInput{what: what, allocations: asks(x), events: []string{"ignored change of waits (app): its " + event},
			counts: counted("changed-content", 1)}
	}
	waits := func(change func(*si.Allocation)) *si.Allocation { return with(sized(1000, known("waits")), change) }
	return []badInput{
		contradicts("RMI-59 an allocation moves to another node", "runs", `node stays "n1", not "n2"`,
			func(x *si.Allocation) { x.NodeID = "n2" }),
		contradicts("RMI-59 an allocation moves to an unknown node", "runs", `node stays "n1", not "n9"`,
			func(x *si.Allocation) { x.NodeID = "n9" }),
		contradicts("ASK-27 another priority of an allocation", "runs", "priority stays 3, not 4",
			func(x *si.Allocation) { x.Priority = 4 }),
		contradicts("ASK-27 another priority of a reported allocation", "runs", "priority stays 3, not 4",
			func(x *si.Allocation) { x.Priority, x.NodeID = 4, "n1" }),
		contradicts("ASK-27 another priority of a pending ask", "waits", "priority stays 3, not 4",
			func(x *si.Allocation) { x.Priority = 4 }),
		contradicts("ASK-27 an unknown task group of a pending ask", "waits", `task group stays "tg", not "nine"`,
			func(x *si.Allocation) { x.TaskGroupName = "nine" }),
		contradicts("ASK-27 an unknown task group of an allocation", "runs", `task group stays "tg", not "nine"`,
			func(x *si.Allocation) { x.TaskGroupName = "nine" }),
		contradicts("ASK-27 an ask becomes a placeholder", "waits", "being a placeholder stays false, not true",
			func(x *si.Allocation) { x.Placeholder = true }),
		contradicts("ASK-27 another required node of a pending ask", "waits", `required node stays "", not "n9"`,
			func(x *si.Allocation) { taggedAsk(x, requiredNodeTag, "n9") }),
		{
			what:        "ASK-14 a known key without resources, and with negative ones",
			allocations: asks(sized(0, known("waits")), sized(-1, known("runs"))),
			answers: []string{"rejected ask waits (app): contains no resources",
				"rejected ask runs (app): contains negative resources"},
		},
		ignored("ASK-27 another preemption policy", "preemption policy stays",
			waits(func(x *si.Allocation) { x.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true} })),
		ignored("ASK-27 another originator flag", "being an originator stays false, not true",
			waits(func(x *si.Allocation) { x.Originator = true })),
		ignored("ASK-27 another constraint", "constraint on nodes stays none, not",
			waits(func(x *si.Allocation) { taggedAsk(x, constraints.SelectorTag, `{"zone":"nowhere"}`) })),
		ignored("ASK-27 other labels", "labels stays none, not app=web",
			waits(func(x *si.Allocation) { taggedAsk(x, budgets.LabelTag+"app", "web") })),
		{
			what:        "ASK-27 another required node of an allocation",
			allocations: asks(with(known("runs"), func(x *si.Allocation) { taggedAsk(x, requiredNodeTag, "n2") })),
			events:      []string{"ignored change of runs (app): its required node stays none, not n2"},
			counts:      counted("changed-content", 1),
		},
		ignored("ASK-27 a constraint that cannot be read", "constraint on nodes stays none, not",
			waits(func(x *si.Allocation) { taggedAsk(x, constraints.SelectorTag, "zone=a") })),
		{what: "ASK-23 the same again",
			allocations: asks(sized(1000, known("waits")), on("n1", known("runs")), known("runs"))},
		{what: "ASK-24 other resources", allocations: asks(on("n1", sized(50, known("runs")))), used: "n1=50 n2=10"},
		{
			what: "ASK-24 a pending ask shrinks and is placed", allocations: asks(sized(20, known("waits"))),
			answers: []string{"allocated waits (app) on n1"}, used: "n1=30 n2=10",
		},
	}
}

func badForeign() []badInput {
	foreign := func(key, node, kind string, n int64) *si.Allocation {
		return on(node, sized(n, taggedAsk(fakerm.Ask(key, ""), "foreign", kind)))
	}
	return []badInput{
		{
			what: "ASK-57 a foreign allocation without a node", allocations: asks(foreign("f", "", "default", 1)),
			answers: []string{"rejected ask f (): trying to add a foreign request (non-allocation) f"},
		},
		{
			what: "ASK-57 a foreign allocation on an unknown node", allocations: asks(foreign("f", "n9", "default", 1)),
			answers: []string{"rejected ask f (): foreign allocation: unknown node n9"},
		},
		{
			what:        "ASK-57 a known foreign allocation moves to an unknown node",
			allocations: asks(foreign("other", "n9", "default", 1)),
			answers:     []string{"rejected ask other (): foreign allocation: unknown node n9"},
		},
		{
			what: "ASK-57 a foreign allocation with negative resources", allocations: asks(foreign("f", "n1", "default", -1)),
			answers: []string{"rejected ask f (): foreign allocation: contains negative resources"},
		},
		{
			what: "ASK-13 a foreign allocation with the key of an ask", allocations: asks(foreign("runs", "n1", "default", 1)),
			answers: []string{"rejected ask runs (): foreign allocation: key runs of application app already exists"},
		},
		{
			what: "ASK-55 an unknown kind of foreign allocation", allocations: asks(foreign("f", "n1", "odd", 5)),
			counts: counted("invalid-tag", 1), used: "n1=15 n2=10",
		},
		{what: "ASK-54 a new foreign allocation", allocations: asks(foreign("f", "n1", "static", 5)), used: "n1=15 n2=10"},
		{what: "ASK-56 a known foreign allocation moves and shrinks", allocations: asks(foreign("other", "n1", "default", 5)),
			used: "n1=15 n2=0"},
	}
}

func badReleases() []badInput {
	release := func(app, key string, how si.TerminationType) []*si.AllocationRelease {
		return releasesOf(&si.AllocationRelease{ApplicationID: app, AllocationKey: key, TerminationType: how})
	}
	const stopped, unknown = si.TerminationType_STOPPED_BY_RM, "unknown-release"
	return []badInput{
		{
			what: "ASK-50 a release of an unknown key", releases: release("app", "none", stopped),
			events: []string{"ignored release of none (app): it is unknown"}, counts: counted(unknown, 1),
		},
		{
			what: "ASK-50 a release of an unknown application", releases: release("none", "runs", stopped),
			events: []string{"ignored release of runs (none): it is unknown"}, counts: counted(unknown, 1),
		},
		{
			what: "ASK-59 a release of an unknown foreign allocation", releases: release("", "none", stopped),
			events: []string{"ignored release of none (): "}, counts: counted(unknown, 1),
		},
		{
			what: "ASK-51 a release without any name", releases: release("", "", stopped),
			logs: []string{"the release names neither an application nor an allocation"}, counts: counted("invalid-element", 1),
		},
		{
			what: "ASK-51 a release with a key that is too long", releases: release("app", overlongID, stopped),
			logs: []string{"allocation key has 1025 bytes"}, counts: counted("invalid-element", 1),
		},
		{
			what:     "PRE-85 a confirmation of a preemption of an unknown allocation",
			releases: release("app", "none", si.TerminationType_PREEMPTED_BY_SCHEDULER),
			events:   []string{"refused confirmation that allocation none was preempted: unknown allocation of application app"},
			counts:   counted("refused-command", 1),
		},
		{
			what: "ASK-46 a release with an unknown termination type", releases: release("app", "runs", 99),
			answers: []string{"released runs (app): released as the RM asked"}, used: "n1=0 n2=10",
		},
		{
			what: "ASK-47 a release of a pending ask", releases: release("app", "waits", stopped),
			events: []string{"cancelled ask waits (app)"},
		},
		{
			what: "ASK-49 a release without a key", releases: release("app", "", stopped),
			answers: []string{"released runs (app): released as the RM asked"}, events: []string{"cancelled ask waits (app)"},
			used: "n1=0 n2=10",
		},
		{what: "ASK-59 a release of a foreign allocation", releases: release("", "other", stopped), used: "n1=10 n2=0"},
		{
			what: "RMI-57 an ask and its release in one message", allocations: asks(fakerm.Ask("k", "app")),
			releases: release("app", "k", stopped),
			events:   []string{"cancelled ask k (app)"},
		},
	}
}

func badNodes() []badInput {
	node := func(id string, action si.NodeInfo_ActionFromRM) *si.NodeInfo {
		return &si.NodeInfo{NodeID: id, Action: action}
	}
	attribute := func(n *si.NodeInfo, name, value string) *si.NodeInfo {
		n.Attributes = map[string]string{name: value}
		return n
	}
	negative := func(id string, action si.NodeInfo_ActionFromRM) *si.NodeInfo {
		return &si.NodeInfo{NodeID: id, Action: action, SchedulableResource: fakerm.Resource(-1, 1)}
	}
	one := func(what string, n *si.NodeInfo, answer string) badInput {
		return badInput{what: what, nodes: []*si.NodeInfo{n}, answers: []string{"rejected node " + n.NodeID + ": " + answer}}
	}
	return []badInput{
		one("NOD-2 a node that is known", fakerm.Node("n1"), "node n1 already exists"),
		one("NOD-5 a node without an ID", fakerm.Node(""), "node ID is empty"),
		one("NOD-5 a node with negative resources", negative("n3", si.NodeInfo_CREATE),
			"node n3 contains negative resources"),
		one("NOD-3 a node of an unknown partition", attribute(fakerm.Node("n3"), "si/node-partition", "none"),
			"failed to find partition none for node n3"),
		one("CON-7 a node with a taint that cannot be read",
			attribute(fakerm.Node("n3"), constraints.TaintsAttribute, `[{"key":"gpu","effect":"Never"}]`),
			`node n3: attribute canopy.scheduler/taints: effect "Never" of taint gpu is none of NoSchedule, NoExecute, `+
				`PreferNoSchedule`),
		one("NOD-39 an unknown action", node("n1", 99),
			"unknown action 99 for node n1: the actions are CREATE, CREATE_DRAIN, UPDATE, DRAIN_NODE, DRAIN_TO_SCHEDULABLE "+
				"and DECOMISSION"),
		one("NOD-8 an update of an unknown node", node("n9", si.NodeInfo_UPDATE), "update of unknown node n9"),
		one("NOD-8 a drain of an unknown node", node("n9", si.NodeInfo_DRAIN_NODE), "drain of unknown node n9"),
		one("NOD-8 the end of a drain of an unknown node", node("n9", si.NodeInfo_DRAIN_TO_SCHEDULABLE),
			"drain of unknown node n9"),
		one("NOD-8 a removal of an unknown node", node("n9", si.NodeInfo_DECOMISSION), "removal of unknown node n9"),
		one("NOD-8 a known node moves to another partition",
			attribute(node("n1", si.NodeInfo_UPDATE), "si/node-partition", "gpu"), "update of unknown node n1"),
		{
			what:   "NOD-8 an update of a known node with negative resources",
			nodes:  []*si.NodeInfo{negative("n1", si.NodeInfo_UPDATE)},
			events: []string{"refused capacity of node n1: node n1 contains negative resources"},
			counts: counted("refused-command", 1),
		},
		{
			what:   "CON-7 new taints of a known node that cannot be read",
			nodes:  []*si.NodeInfo{withCapacity(attribute(node("n1", si.NodeInfo_UPDATE), constraints.TaintsAttribute, "gpu"))},
			events: []string{"refused attributes of node n1: "}, counts: counted("refused-command", 1),
		},
	}
}

// withCapacity is an update with the capacity that the node has.
func withCapacity(n *si.NodeInfo) *si.NodeInfo {
	n.SchedulableResource = fakerm.Resource(100, 100)
	return n
}

func badApplications() []badInput {
	app := func(change func(*si.AddApplicationRequest)) *si.ApplicationRequest {
		a := fakerm.App("second", "root.b")
		change(a)
		return newApps(a)
	}
	reject := func(what, reason string, change func(*si.AddApplicationRequest)) badInput {
		m := app(change)
		return badInput{what: what, apps: m,
			answers: []string{"rejected application " + m.New[0].ApplicationID + ": " + reason}}
	}
	recovered := func(what, reason string, change func(*si.AddApplicationRequest)) badInput {
		m := app(change)
		m.New[0].Tags = map[string]string{"application.create.force": "true"}
		return badInput{
			what: "APP-25 a forced application is accepted with " + what, apps: m,
			answers: []string{"accepted application second"},
			events:  []string{"refused placement of application second, which is in root.@recovery@: " + reason},
			counts:  counted("refused-command", 1),
		}
	}
	tag := func(name, value string) func(*si.AddApplicationRequest) {
		return func(a *si.AddApplicationRequest) { a.Tags = map[string]string{name: value} }
	}
	return []badInput{
		reject("PLC-10 an application that is known", "application app already exists",
			func(a *si.AddApplicationRequest) { a.ApplicationID = "app" }),
		reject("APP-17 an application without an ID", "application ID is empty",
			func(a *si.AddApplicationRequest) { a.ApplicationID = "" }),
		reject("APP-18 an unknown partition", "failed to add application second to partition none, partition doesn't exist",
			func(a *si.AddApplicationRequest) { a.PartitionName = "none" }),
		reject("PLC-7 an unknown queue",
			"no placement rule matched: rule provided: queue root.none does not exist, and the rule does not create it",
			func(a *si.AddApplicationRequest) { a.QueueName = "root.none" }),
		reject("ACL-18 no user", "no user information", func(a *si.AddApplicationRequest) { a.Ugi = nil }),
		reject("APP-21 an empty user", "user name is empty", func(a *si.AddApplicationRequest) { a.Ugi.User = "" }),
		reject("APP-21 a user that no configuration could name", `invalid user name "DOM\\alice"`,
			func(a *si.AddApplicationRequest) { a.Ugi.User = `DOM\alice` }),
		recovered("a malformed user", `invalid user name "DOM\\alice"`,
			func(a *si.AddApplicationRequest) { a.Ugi.User = `DOM\alice` }),
		recovered("a user name that is too long", "user name has 2000 bytes",
			func(a *si.AddApplicationRequest) { a.Ugi.User = strings.Repeat("u", 2000) }),
		recovered("a queue name that is too long", "queue name has 9000 bytes",
			func(a *si.AddApplicationRequest) { a.QueueName = strings.Repeat("q", 9000) }),
		recovered("a negative placeholderAsk", "placeholderAsk contains negative",
			func(a *si.AddApplicationRequest) { a.PlaceholderAsk = fakerm.Resource(-1, 1) }),
		{
			what: "PRE-51 a group priority that cannot be read", apps: app(func(a *si.AddApplicationRequest) {
				a.Tags = map[string]string{"canopy.scheduler/group-priority": "many"}
			}),
			answers: []string{"accepted application second"},
			events:  []string{`refused group of application second: tag canopy.scheduler/group-priority: "many" is not`},
			counts:  counted("refused-command", 1),
		},
		reject("GAN-12 a negative placeholderAsk", "placeholderAsk contains negative resources",
			func(a *si.AddApplicationRequest) { a.PlaceholderAsk = fakerm.Resource(-1, 1) }),
		reject("GAN-19 task groups that cannot be read",
			"tag yunikorn.apache.org/task-groups: virtual placeholders need task groups",
			tag("canopy.scheduler/virtual-placeholders", "true")),
		{
			what:   "RMI-55 a removal of an unknown application",
			apps:   &si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: "none"}}},
			events: []string{"ignored removal of  (none): it is unknown, or has ended"},
			counts: counted("unknown-application", 1),
		},
		{
			what: "RMI-51 a removal for an unknown partition",
			apps: &si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app", PartitionName: "none"}}},
			logs: []string{"unknown partition none"}, counts: counted("invalid-element", 1),
		},
	}
}
