package entrypoint

import (
	"slices"
	"strings"
	"sync"

	"github.com/apache/yunikorn-k8shim/pkg/common/events"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	kubeevents "k8s.io/client-go/tools/events"
)

// nodeRefusals tells the core which releases are of pods that their node refused (NOD-44). The shim releases a pod
// whose binding failed like one that has completed. But before that it records an event of the pod with the error: the
// release needs the lock of the task, which the shim holds until the event is recorded.
type nodeRefusals struct {
	api.SchedulerAPI
	mu      sync.Mutex
	refused map[string]string // the notes of the events, by allocation key
	taints  *taintRefusals    // nil: no resource manager has registered
}

// maxRefused bounds what is remembered. A release follows each event, so few are kept at a time.
const maxRefused = 10_000

// RegisterResourceManager begins to watch the events of the shim, which has set its recorder by now.
func (r *nodeRefusals) RegisterResourceManager(
	request *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback,
) (*si.RegisterResourceManagerResponse, error) {
	events.SetRecorder(refusalRecorder{events.GetRecorder(), r})
	taints := rememberTaintRefusals(callback)
	r.mu.Lock()
	r.taints = taints
	r.mu.Unlock()
	return r.SchedulerAPI.RegisterResourceManager(request, newStatesAtOnce(callback, taints))
}

// UpdateAllocation passes a request on. A release of a refused pod says so in its message.
func (r *nodeRefusals) UpdateAllocation(request *si.AllocationRequest) error {
	r.mu.Lock()
	for _, release := range request.GetReleases().GetAllocationsToRelease() {
		if note, ok := r.refused[release.AllocationKey]; ok {
			release.Message = "canopy: node refused: " + note
			delete(r.refused, release.AllocationKey)
		}
		if r.taints != nil {
			r.taints.forget(release.AllocationKey)
		}
	}
	r.mu.Unlock()
	return r.SchedulerAPI.UpdateAllocation(request)
}

// refusalRecorder remembers the failed bindings among the events of the shim.
type refusalRecorder struct {
	kubeevents.EventRecorder
	refusals *nodeRefusals
}

// Eventf records an event.
func (r refusalRecorder) Eventf(pod, related runtime.Object, kind, reason, action, note string, args ...any) {
	if object, err := meta.Accessor(pod); err == nil && isRefusal(reason, note) {
		r.refusals.mu.Lock()
		if len(r.refusals.refused) >= maxRefused {
			clear(r.refusals.refused)
		}
		r.refusals.refused[string(object.GetUID())] = note
		r.refusals.mu.Unlock()
	}
	r.EventRecorder.Eventf(pod, related, kind, reason, action, note, args...)
}

// isRefusal reports whether an event says that the binding to a node was refused. A lost connection, or a pod that is
// gone, says nothing about the node.
func isRefusal(reason, note string) bool {
	texts := map[string][]string{
		"PodBindFailure":        {" is forbidden: ", " denied the request", " is invalid: "},
		"PodVolumesBindFailure": {"binding volumes: ", " has conflicting volume claims: "},
	}[reason]
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(note, text) })
}
