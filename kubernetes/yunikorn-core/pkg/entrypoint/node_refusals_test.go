package entrypoint

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-k8shim/pkg/common/events"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

// place asks for a pod, and returns its node.
func place(t *testing.T, s *ServiceContext, rm *shim, key string) (node string) {
	t.Helper()
	assert.NilError(t, s.RMProxy.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{{
		AllocationKey: key, ApplicationID: "app", PartitionName: "[rm]default", ResourcePerAlloc: vcores(2000),
	}}}))
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		rm.mu.Lock()
		defer rm.mu.Unlock()
		for _, a := range rm.allocations {
			if a.AllocationKey == key {
				node = a.NodeID
				return poll.Success()
			}
		}
		return poll.Continue("%s waits", key)
	}, poll.WithTimeout(20*time.Second))
	return node
}

// A node on which the bindings of several pods were refused gets no more pods of their shape for a time (NOD-46), and
// one on which they failed for another reason does.
func TestNodeRefusals_FailedBindingsKeepANodeFromTheShape(t *testing.T) {
	t.Cleanup(func() { events.SetRecorder(events.NewMockedRecorder()) })
	const bind, volumes = "PodBindFailure", "PodVolumesBindFailure"
	for _, test := range []struct{ name, reason, note, node string }{
		{"refused", bind, `bind pod to node failed, name: work/p, pods "p" is forbidden: no`, "b"},
		{"denied", bind, `bind pod to node failed, name: work/p, admission webhook "w" denied the request: no`, "b"},
		{"no volume", volumes, `bind volumes to pod failed, name: work/p, binding volumes: provisioning failed`, "b"},
		{"no answer", bind, `bind pod to node failed, name: work/p, Post "https://10.0.0.1": connection refused`, "a"},
		{"another event", "TaskFailed", `pods "p" is forbidden: no`, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := events.NewMockedRecorder()
			var recorded int
			recorder.OnEventf = func() { recorded++ }
			events.SetRecorder(recorder)
			s, _ := running(t, environment{envHTTPAddress: "none", envRecoveryQuiet: "0"})
			rm := &shim{}
			_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
				RmID: "rm", PolicyGroup: "queues", Version: "1", Config: configs.DefaultSchedulerConfig,
			}, rm)
			assert.NilError(t, err)
			addNodes(t, s, "a", "b")
			addApplication(t, s)
			for _, key := range []string{"p1", "p2", "p3"} {
				assert.Equal(t, place(t, s, rm, key), "a")
				pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(key)}}
				events.GetRecorder().Eventf(pod, nil, "Warning", test.reason, test.reason, test.note)
				release := &si.AllocationRelease{
					AllocationKey: key, ApplicationID: "app", PartitionName: "[rm]default", Message: "task completed",
				}
				assert.NilError(t, s.RMProxy.UpdateAllocation(&si.AllocationRequest{
					RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{release}},
				}))
			}
			assert.Equal(t, recorded, 3, "the events of the shim are recorded as before")
			assert.Equal(t, place(t, s, rm, "next"), test.node)
			assert.Equal(t, len(s.RMProxy.(*nodeRefusals).refused), 0)
		})
	}
}
