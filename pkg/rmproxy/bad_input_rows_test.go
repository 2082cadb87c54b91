package rmproxy

import (
	"strconv"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// asks, releasesOf and counted shorten the rows.
func asks(all ...*si.Allocation) []*si.Allocation                     { return all }
func releasesOf(all ...*si.AllocationRelease) []*si.AllocationRelease { return all }
func counted(kind string, n uint64) map[string]uint64                 { return map[string]uint64{kind: n} }

// allUsed is what is allocated after an ask of 10 was placed besides, on n1.
const allUsed = "n1=20 n2=10"

func badPartitions() []badInput {
	inPartition := func(x *si.Allocation, partition string) *si.Allocation {
		x.PartitionName = partition
		return x
	}
	gpuApp := func(t *testing.T, r *badRig) {
		app, node := fakerm.App("late", "root.a"), fakerm.Node("g1")
		app.PartitionName, node.Attributes = "gpu", map[string]string{"si/node-partition": "gpu"}
		r.send(badInput{nodes: []*si.NodeInfo{node}, apps: newApps(app)})
		r.reload(queues)
	}
	return []badInput{
		{
			what:        "ASK-19 an ask for an unknown partition",
			allocations: asks(inPartition(fakerm.Ask("k", "app"), "none"), fakerm.Ask("good", "app")),
			answers: []string{"rejected ask k (app): failed to find partition none, for application app and allocation k",
				"allocated good (app) on n1"}, used: allUsed,
		},
		{
			what:        "ASK-19 a reported allocation for an unknown partition",
			allocations: asks(on("n1", inPartition(fakerm.Ask("k", "app"), "none"))),
			answers:     []string{"rejected ask k (app): failed to find partition none, for application app and allocation k"},
		},
		{
			what:        "ASK-19 an ask for a partition of another resource manager",
			allocations: asks(inPartition(fakerm.Ask("k", "app"), "[other]default")),
			answers: []string{"rejected ask k (app): failed to find partition [other]default, for application app and " +
				"allocation k"},
		},
		{
			what:     "ASK-51 a release for an unknown partition",
			releases: releasesOf(&si.AllocationRelease{ApplicationID: "app", AllocationKey: "runs", PartitionName: "none"}),
			logs:     []string{"unknown partition none"}, counts: counted("invalid-element", 1),
		},
		{
			what: "ASK-22 a partition that is being removed takes asks, and no application", given: gpuApp,
			apps: newApps(&si.AddApplicationRequest{ApplicationID: "later", QueueName: "root.a", PartitionName: "gpu",
				Ugi: fakerm.App("", "").Ugi}),
			allocations: asks(inPartition(fakerm.Ask("k", "late"), "gpu")),
			answers:     []string{"rejected application later: partition gpu is being removed", "allocated k (late) on g1"},
		},
		{
			what: "RMI-53 a partition that has been removed", given: func(t *testing.T, r *badRig) { r.reload(queues) },
			allocations: asks(inPartition(fakerm.Ask("k", "late"), "gpu")),
			answers:     []string{"rejected ask k (late): failed to find partition gpu, for application late and allocation k"},
		},
	}
}

func badAsks() []badInput {
	reject := func(what, reason string, x *si.Allocation) badInput {
		return badInput{what: what, allocations: asks(x),
			answers: []string{"rejected ask " + x.AllocationKey + " (" + x.ApplicationID + "): " + reason}}
	}
	virtualApp := func(_ *testing.T, r *badRig) {
		app := fakerm.App("virtual", "root.a")
		app.Tags = map[string]string{"canopy.scheduler/virtual-placeholders": "true",
			"yunikorn.apache.org/task-groups": `[{"name":"g","minMember":2}]`}
		r.send(badInput{apps: newApps(app)})
	}
	group := func(x *si.Allocation, name string, placeholder bool) *si.Allocation {
		x.TaskGroupName, x.Placeholder = name, placeholder
		return x
	}
	placeholderOfVirtual := reject("GAN-19 a placeholder of an application with virtual placeholders",
		"application virtual has virtual placeholders, and takes no others", group(fakerm.Ask("k", "virtual"), "g", true))
	placeholderOfVirtual.given = virtualApp
	memberWithPort := reject("GAN-28 a member of a gang that is placed together with host ports",
		"task group g of application virtual has virtual placeholders: its asks can have no pod affinity, topology spread "+
			"or host ports",
		taggedAsk(group(fakerm.Ask("k", "virtual"), "g", false), affinity.PortsTag, `[{"hostPort":80}]`))
	memberWithPort.given = virtualApp
	removed := reject("ASK-11 an application that has been removed",
		"unknown application app: it was Completed at 2000-01-01T00:00:06Z", fakerm.Ask("k", "app"))
	removed.given = func(_ *testing.T, r *badRig) {
		r.send(badInput{apps: &si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app"}}}})
	}
	removed.used = "n1=0 n2=10"
	otherApp := reject("ASK-12 a key that another application has", "key runs of application app already exists",
		fakerm.Ask("runs", "second"))
	otherApp.given = func(_ *testing.T, r *badRig) { r.send(badInput{apps: newApps(fakerm.App("second", "root.b"))}) }
	return []badInput{
		reject("ASK-11 an unknown application", "unknown application none", fakerm.Ask("k", "none")),
		removed,
		reject("ASK-9 an ask without an application", "application ID is empty", fakerm.Ask("k", "")),
		reject("ASK-18 an ask without a key", "allocation key is empty", fakerm.Ask("", "app")),
		reject("ASK-18 a task group that is too long",
			"task group name has 1025 bytes, at most 1024 are allowed: "+strconv.Quote(overlongID[:64]+"..."),
			group(fakerm.Ask("k", "app"), overlongID, false)),
		reject("ASK-17 a placeholder without a task group", "placeholder without a task group",
			group(fakerm.Ask("k", "app"), "", true)),
		placeholderOfVirtual,
		memberWithPort,
		otherApp,
		reject("ASK-13 a key that a foreign allocation has", "key other already exists as a foreign allocation",
			fakerm.Ask("other", "app")),
		reject("ASK-14 no resources", "contains no resources",
			with(fakerm.Ask("k", "app"), func(x *si.Allocation) { x.ResourcePerAlloc = nil })),
		reject("ASK-14 resources that are zero", "contains no resources", sized(0, fakerm.Ask("k", "app"))),
		reject("ASK-14 negative resources", "contains negative resources", sized(-1, fakerm.Ask("k", "app"))),
		reject("ASK-14 one negative resource beside a positive one", "contains negative resources",
			with(fakerm.Ask("k", "app"), func(x *si.Allocation) { x.ResourcePerAlloc = fakerm.Resource(5, -1) })),
		reject("ASK-15 resources that exceed 64 bits with the others", "quantities add up past 64 bits",
			sized(1<<63-1, fakerm.Ask("k", "app"))),
		reject("ASK-16 too many resource names",
			`resource name "67": no node and no configuration knows it, and asks have 64 such names, of at most 64`,
			with(fakerm.Ask("k", "app"), func(x *si.Allocation) {
				for i := range 100 {
					x.ResourcePerAlloc.Resources[strconv.Itoa(i)] = &si.Quantity{Value: 1}
				}
			})),
		reject("CON-26 a host port that is none", "tag canopy.scheduler/hostPorts: hostPort 70000 is not from 1 to 65535",
			taggedAsk(fakerm.Ask("k", "app"), affinity.PortsTag, `[{"hostPort":70000}]`)),
		reject("CON-7 a constraint that cannot be read",
			`tag canopy.scheduler/tolerations: operator "Like" of toleration "gpu" is none of Equal, Exists`,
			taggedAsk(fakerm.Ask("k", "app"), constraints.TolerationsTag, `[{"key":"gpu","operator":"Like"}]`)),
		{
			what:        "ASK-5 a creation time that is none",
			allocations: asks(taggedAsk(fakerm.Ask("k", "app"), "creationTime", "soon")),
			answers:     []string{"allocated k (app) on n1"}, counts: counted("invalid-tag", 1), used: allUsed,
		},
	}
}

// unmetAsks are accepted: what they need may come. They are not silent.
func unmetAsks() []badInput {
	return []badInput{
		{
			what: "ASK-65 a task group that the application does not have",
			given: func(_ *testing.T, r *badRig) {
				r.send(badInput{allocations: asks(with(fakerm.Ask("holder", "app"),
					func(x *si.Allocation) { x.TaskGroupName, x.Placeholder = "g", true }))})
			},
			allocations: asks(with(fakerm.Ask("k", "app"), func(x *si.Allocation) { x.TaskGroupName = "nine" })),
			answers:     []string{"allocated k (app) on n2"},
			events:      []string{`ignored task group of k (app): its application has no task group "nine"`},
			counts:      counted("unknown-task-group", 1), used: "n1=20 n2=20",
		},
		{
			what:        "ASK-66 a required node that is unknown",
			allocations: asks(taggedAsk(fakerm.Ask("k", "app"), requiredNodeTag, "n9")),
			events:      []string{"unmet required node of k (app): its required node n9 does not exist"},
			counts:      counted("unmet-required-node", 1),
		},
		{
			what: "ASK-66 a required node that the node selector does not admit",
			allocations: asks(with(fakerm.Ask("k", "app"), func(x *si.Allocation) {
				x.AllocationTags = map[string]string{requiredNodeTag: "n1", constraints.SelectorTag: `{"zone":"b"}`}
			})),
			events: []string{"unmet required node of k (app): its node selector, node affinity or tolerations do not admit " +
				"its required node n1"},
			counts: counted("unmet-required-node", 1),
		},
		{
			what:        "ASK-62 a node selector that matches no node",
			allocations: asks(taggedAsk(fakerm.Ask("k", "app"), constraints.SelectorTag, `{"zone":"nowhere"}`)),
			events:      []string{"waiting ask k (app) is FAILED"},
		},
		{
			what: "ASK-62 a node affinity that no node can ever match",
			allocations: asks(taggedAsk(fakerm.Ask("k", "app"), constraints.AffinityTag,
				`{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
				{"matchExpressions":[{"key":"zone","operator":"Exists"},{"key":"zone","operator":"DoesNotExist"}]}]}}`)),
			events: []string{"waiting ask k (app) is FAILED"},
		},
		{
			what: "ASK-62 more than any node has", allocations: asks(sized(101, fakerm.Ask("k", "app"))),
			events: []string{"waiting ask k (app) is FAILED"},
		},
	}
}
