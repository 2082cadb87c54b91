package rmproxy

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
)

const gangConfig = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
          - name: small
            resources: {max: {vcore: 5m}}
          - name: fair
            properties: {application.sort.policy: fair}
`

// gangRM is a resource manager with a node of six vcores that submits one gang over gRPC.
type gangRM struct {
	*testing.T
	apps  si.Scheduler_UpdateApplicationClient
	allox si.Scheduler_UpdateAllocationClient
}

// vcores is a resource of a few vcores and as much memory.
func vcores(n int64) *si.Resource { return fakerm.Resource(n, n) }

func newGangRM(t *testing.T, style string, timeout time.Duration, requested int64) *gangRM {
	r := newBubbleRig(t, testOptions{})
	assert.NilError(t, r.register("rm", gangConfig))
	n := r.openNodeStream()
	rm := &gangRM{t, r.openApplicationStream(), r.openAllocationStream()}
	node := fakerm.Node("n1")
	node.SchedulableResource = vcores(6)
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{node}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	app := fakerm.App("app", "root.a")
	app.PlaceholderAsk, app.GangSchedulingStyle, app.ExecutionTimeoutMilliSeconds = vcores(requested), style,
		timeout.Milliseconds()
	assert.NilError(t, rm.apps.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	receive(t, rm.apps, 1, (*si.ApplicationResponse).GetAccepted)
	return rm
}

// ask submits asks of three vcores: placeholders of the task group g, its members, or plain asks.
func (rm *gangRM) ask(group string, placeholder bool, keys ...string) {
	m := &si.AllocationRequest{}
	for _, key := range keys {
		x := fakerm.Ask(key, "app")
		x.ResourcePerAlloc, x.TaskGroupName, x.Placeholder = vcores(3), group, placeholder
		m.Allocations = append(m.Allocations, x)
	}
	assert.NilError(rm, rm.allox.Send(m))
}

// released receives releases of a type in any order, with the message of the first.
func (rm *gangRM) released(how si.TerminationType, message string, keys ...string) {
	rm.Helper()
	want := map[string]bool{}
	for _, key := range keys {
		want[key] = true
	}
	for i, x := range receive(rm.T, rm.allox, len(keys), (*si.AllocationResponse).GetReleased) {
		assert.Assert(rm, want[x.AllocationKey] && x.TerminationType == how, "%v", x)
		delete(want, x.AllocationKey)
		if i == 0 {
			assert.Equal(rm, x.Message, message)
		}
	}
}

func (rm *gangRM) confirm(how si.TerminationType, keys ...string) {
	r := &si.AllocationReleasesRequest{}
	for _, key := range keys {
		r.AllocationsToRelease = append(r.AllocationsToRelease,
			&si.AllocationRelease{ApplicationID: "app", AllocationKey: key, TerminationType: how})
	}
	assert.NilError(rm, rm.allox.Send(&si.AllocationRequest{Releases: r}))
}

func (rm *gangRM) placed(keys ...string) {
	rm.Helper()
	for i, x := range receive(rm.T, rm.allox, len(keys), (*si.AllocationResponse).GetNew) {
		assert.Equal(rm, x.AllocationKey, keys[i])
		assert.Equal(rm, x.NodeID, "n1")
	}
}

func (rm *gangRM) states(want ...string) (messages []string) {
	rm.Helper()
	for i, u := range receive(rm.T, rm.apps, len(want), (*si.ApplicationResponse).GetUpdated) {
		assert.Equal(rm, u.State, want[i])
		messages = append(messages, u.Message)
	}
	return messages
}

// Two placeholders of three vcores on a node of six are replaced by two real asks.
func TestGangs_PlaceholdersAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := newGangRM(t, "Hard", time.Minute, 6)
		rm.ask("g", true, "p1", "p2")
		rm.placed("p1", "p2")
		rm.states("Accepted", "Running")
		rm.ask("g", false, "k1", "k2")
		rm.released(si.TerminationType_PLACEHOLDER_REPLACED, "replacing allocationKey: k1", "p1", "p2")
		rm.confirm(si.TerminationType_PLACEHOLDER_REPLACED, "p1", "p2")
		rm.placed("k1", "k2")
	})
}

// A Soft gang of which nothing is replaced in time becomes an ordinary application.
func TestGangs_SoftFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := newGangRM(t, "Soft", 2*time.Second, 9)
		rm.ask("g", true, "p1", "p2")
		rm.placed("p1", "p2")
		rm.states("Accepted")
		rm.released(si.TerminationType_TIMEOUT, "releasing allocated placeholders on placeholder timeout", "p1", "p2")
		assert.Equal(t, rm.states("Resuming")[0], "ResourceReservationTimeout")
		rm.confirm(si.TerminationType_TIMEOUT, "p1", "p2")
		rm.states("Accepted")
		rm.ask("", false, "plain")
		rm.placed("plain")
		rm.states("Running")
	})
}

// A Hard gang of which two of three placeholders fit fails, with an ordinary ask that waits.
func TestGangs_HardFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := newGangRM(t, "Hard", 2*time.Second, 9)
		rm.ask("g", true, "p1", "p2", "p3")
		rm.placed("p1", "p2")
		rm.ask("", false, "plain")
		rm.states("Accepted")
		rm.released(si.TerminationType_TIMEOUT, "releasing allocated placeholders on placeholder timeout", "p1", "p2", "p3",
			"plain")
		assert.Equal(t, rm.states("Failing")[0], "ResourceReservationTimeout")
		rm.confirm(si.TerminationType_TIMEOUT, "p1", "p2", "p3", "plain")
		rm.states("Failed")
	})
}

// An application is rejected for the size of its gang, or for the order of its leaf.
func TestGangs_Admission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := newGangRM(t, "Soft", 0, 1)
		gang := func(queue string, requested *si.Resource) *si.AddApplicationRequest {
			app := fakerm.App("other", queue)
			app.PlaceholderAsk = requested
			return app
		}
		for _, c := range []struct {
			app  *si.AddApplicationRequest
			want string
		}{
			{gang("root.fair", vcores(1)),
				"queue root.fair cannot run application other with task group request: unsupported sort type fair: gangs need " +
					"fifo or stateaware"},
			{gang("root.small", vcores(6)),
				"queue root.small cannot fit application other: task group request {memory=6 vcore=6} larger than max queue " +
					"allocation ≤{vcore=5}"},
			{gang("root.a", vcores(-1)), "placeholderAsk contains negative resources"},
		} {
			assert.NilError(t, rm.apps.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{c.app}}))
			assert.Equal(t, receive(t, rm.apps, 1, (*si.ApplicationResponse).GetRejected)[0].Reason, c.want)
		}
		for _, app := range []*si.AddApplicationRequest{gang("root.fair", nil), gang("root.fair", &si.Resource{})} {
			app.ApplicationID = "app" + app.PlaceholderAsk.String() + "x"
			assert.NilError(t, rm.apps.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
			receive(t, rm.apps, 1, (*si.ApplicationResponse).GetAccepted)
			assert.NilError(t,
				rm.apps.Send(&si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: app.ApplicationID}}}))
		}
	})
}

func TestReadGang_AllFields(t *testing.T) {
	got, err := readGang(&si.AddApplicationRequest{
		GangSchedulingStyle: "Hard", ExecutionTimeoutMilliSeconds: 2500, PlaceholderAsk: vcores(3),
		Tags: map[string]string{"yunikorn.apache.org/creationTime": "1700000000"},
	})
	assert.NilError(t, err)
	assert.Assert(t, got.Requested.Get("vcore") == 3 && got.Requested.Get("memory") == 3)
	assert.Assert(t, got.Style == gangs.Hard && got.Timeout == 2500*time.Millisecond &&
		got.Created.Equal(time.Unix(1700000000, 0)))
	got, err = readGang(&si.AddApplicationRequest{GangSchedulingStyle: "hard", ExecutionTimeoutMilliSeconds: math.MaxInt64,
		Tags: map[string]string{"yunikorn.apache.org/creationTime": "soon"}})
	assert.NilError(t, err)
	assert.Assert(t, !got.Declared())
}

// The tags of virtual placeholders are read at admission; members are placed together, and a placeholder is rejected
// (GAN-19, GAN-20).
func TestGangs_VirtualPlaceholders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := newGangRM(t, "Soft", 0, 1)
		submit := func(id, queue, groups string) {
			app := fakerm.App(id, queue)
			app.Tags = map[string]string{gangs.VirtualPlaceholdersTag: "true", gangs.TaskGroupsTag: groups}
			assert.NilError(t, rm.apps.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
		}
		for groups, want := range map[string]string{
			``: "tag yunikorn.apache.org/task-groups: virtual placeholders need task groups",
			`[{"name":"g","minMember":2,"topology":{"required":"zone","rack":"r"}}]`: `tag yunikorn.apache.org/task-groups: ` +
				`topology of task group g: "{\"required\":\"zone\",\"rack\":\"r\"}" is no object with levels, required and ` +
				`preferred`,
			`[{"name":"g","minMember":2,"minResource":{"cpu":"3m"}}]`: "queue root.small cannot fit " +
				"application other: task group request {vcore=6} larger than max queue allocation ≤{vcore=5}",
		} {
			submit("other", "root.small", groups)
			assert.Equal(t, receive(t, rm.apps, 1, (*si.ApplicationResponse).GetRejected)[0].Reason, want)
		}
		one := fakerm.App("one-by-one", "root.a")
		one.Tags = map[string]string{gangs.TaskGroupsTag: `[{"name":"g","minMember":2,"topology":{"required":"zone"}}]`}
		assert.NilError(t, rm.apps.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{one}}))
		assert.Equal(t, receive(t, rm.apps, 1, (*si.ApplicationResponse).GetRejected)[0].Reason,
			"tag yunikorn.apache.org/task-groups: topology of task group g needs the tag canopy.scheduler/virtual-placeholders")
		submit("virtual", "root.a", `[{"name":"g","minMember":2}]`)
		receive(t, rm.apps, 1, (*si.ApplicationResponse).GetAccepted)
		ask := func(key string, placeholder bool) {
			x := fakerm.Ask(key, "virtual")
			x.ResourcePerAlloc, x.TaskGroupName, x.Placeholder = vcores(3), "g", placeholder
			assert.NilError(t, rm.allox.Send(&si.AllocationRequest{Allocations: []*si.Allocation{x}}))
		}
		ask("holder", true)
		rejected := receive(t, rm.allox, 1, (*si.AllocationResponse).GetRejectedAllocations)
		assert.Equal(t, rejected[0].Reason, "application virtual has virtual placeholders, and takes no others")
		ask("k1", false)
		ask("k2", false)
		rm.placed("k1", "k2")
		rm.states("Accepted", "Running")
	})
}
