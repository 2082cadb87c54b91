package rmproxy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// The updates that a resource manager gets about an application, from its first ask until it is
// removed.
func TestApplication_LifecycleUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lifetimes := lifecycle.Lifetimes{Completing: time.Second, Completed: 2 * time.Second, Rejected: time.Second,
			MaxEnded: 10}
		r := newBubbleRig(t, testOptions{Loop: loop.Options{Lifetimes: &lifetimes}})
		assert.NilError(t, r.register("rm", queues))
		n, a, x := r.openNodeStream(), r.openApplicationStream(), r.openAllocationStream()
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		receive(t, n, 1, (*si.NodeResponse).GetAccepted)
		ask := func(key string) {
			assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask(key, "app")}}))
			receive(t, x, 1, (*si.AllocationResponse).GetNew)
		}
		release := func(key string) time.Time {
			assert.NilError(t, x.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
				AllocationsToRelease: []*si.AllocationRelease{
					{ApplicationID: "app", AllocationKey: key, TerminationType: si.TerminationType_STOPPED_BY_RM},
				},
			}}))
			receive(t, x, 1, (*si.AllocationResponse).GetReleased)
			return time.Now()
		}
		add := func(queue string) {
			assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", queue)}}))
		}
		assertUpdates := func(at time.Time, messages ...string) {
			t.Helper()
			for i, u := range receive(t, a, len(messages), (*si.ApplicationResponse).GetUpdated) {
				assert.Equal(t, u.ApplicationID, "app")
				assert.Equal(t, u.Message, "application app is "+messages[i])
				assert.Equal(t, u.StateTransitionTimestamp, at.UnixNano())
				assert.Equal(t, messages[i][:len(u.State)], u.State)
			}
		}

		add("root.a")
		receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
		ask("k1")
		assertUpdates(time.Now(), "Accepted: the first ask arrived", "Running: the first ask was placed")
		assertUpdates(release("k1"), "Completing: nothing is pending and nothing runs")
		ask("k2")
		assertUpdates(time.Now(), "Running: a new ask arrived")
		idle := release("k2")
		assertUpdates(idle, "Completing: nothing is pending and nothing runs")
		assertUpdates(idle.Add(time.Second), "Completed: the completing timeout has passed")
		assertUpdates(idle.Add(3*time.Second), "Expired: the retention time has passed")

		// A rejected application has one answer and no update.
		add("root.none")
		receive(t, a, 1, (*si.ApplicationResponse).GetRejected)
		<-time.After(2 * time.Second)

		// The ID is used again, and the RM removes the application.
		add("root.b")
		receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
		ask("k3")
		assertUpdates(time.Now(), "Accepted: the first ask arrived", "Running: the first ask was placed")
		assert.NilError(t, a.Send(&si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app"}}}))
		releasedAlloc := receive(t, x, 1, (*si.AllocationResponse).GetReleased)[0]
		assert.Equal(t, releasedAlloc.Message, "application app was removed")
		assertUpdates(time.Now(), "Completing: the resource manager removed it", "Completed: the resource manager removed it")
	})
}

// An invalid quota tag does not reject the application, and is logged.
func TestApplication_InvalidQuotaTagIsLogged(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", `
partitions:
  - name: default
    placementrules: [{name: provided, create: true}]
    queues: [{name: root, submitacl: '*'}]
`))
	a := r.openApplicationStream()
	app := fakerm.App("app", "root.made")
	app.Tags = map[string]string{"namespace.resourcequota": "17", "namespace.resourcemaxapps": "2"}
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
	l, _ := r.p.Cluster().Partition("default")
	s, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, s.Root.Children.At(0).MaxApplications, uint64(2))
	logged := r.logs.FilterMessage("refused").All()
	assert.Equal(t, len(logged), 1)
	assert.Equal(t, logged[0].ContextMap()["what"], "quota of queue root.made from application app")
}
