package entrypoint

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/apache/yunikorn-k8shim/pkg/common/events"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeevents "k8s.io/client-go/tools/events"
)

// taintRefusals remembers for a moment that a node was refused for its taints, and answers the predicates of other pods
// with the same tolerations. A node that an autoscaler has added is tainted for some seconds, and the shim says nothing
// when the taint goes: a thousand waiting pods asked about each of a hundred new nodes are 10 s of predicates, in which
// no node could register and no taint be seen to go.
type taintRefusals struct {
	api.ResourceManagerCallback
	now     func() time.Time
	mu      sync.Mutex
	pods    map[string]*pendingPod // that had an event, by allocation key
	refused map[taintRefusal]refusedUntil
}

// pendingPod is a pod that waits. Tolerations may be added to it, of which there is no event, so from time to time the
// shim is asked about it as if it was alone.
type pendingPod struct {
	tolerations unique.Handle[string]
	aloneFrom   time.Time
	aloneUntil  time.Time // zero: it was not asked about since aloneFrom
}

// taintRefusal is a node and the tolerations of pods for which it was refused.
type taintRefusal struct {
	node        string
	tolerations unique.Handle[string]
}

// refusedUntil is the answer of the shim, and until when it is given to other pods.
type refusedUntil struct {
	answer error
	until  time.Time
}

const (
	// taintMemory is for how long an answer is given to other pods. A taint that goes is seen as much later, which adds
	// to the second after which refused pods are tried again (ASK-33).
	taintMemory = 500 * time.Millisecond
	aloneEach   = 2 * time.Minute
	aloneFor    = time.Second // all nodes are asked about meanwhile
	// maxPending bounds the pods and the refusals that are remembered. What is forgotten costs a call, no more.
	maxPending = 100_000
	// taintPlugin is in the text with which the shim refuses a node for its taints.
	taintPlugin = "failed plugin: 'TaintToleration'"
)

// rememberTaintRefusals returns a callback that remembers. It watches the events of the shim, which has set its
// recorder by now: the first event of a pending pod follows its request.
func rememberTaintRefusals(callback api.ResourceManagerCallback) *taintRefusals {
	r := &taintRefusals{ResourceManagerCallback: callback, now: time.Now,
		pods: map[string]*pendingPod{}, refused: map[taintRefusal]refusedUntil{}}
	events.SetRecorder(tolerationRecorder{events.GetRecorder(), r})
	return r
}

// Predicates answers for the shim if it has just refused the node for its taints to a pod with the same tolerations.
func (r *taintRefusals) Predicates(args *si.PredicatesArgs) error {
	key, shared := r.shared(args)
	if shared {
		r.mu.Lock()
		last, refused := r.refused[key]
		r.mu.Unlock()
		if refused && r.now().Before(last.until) {
			return last.answer
		}
	}
	answer := r.ResourceManagerCallback.Predicates(args)
	if shared && answer != nil && strings.Contains(answer.Error(), taintPlugin) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.refused) >= maxPending {
			clear(r.refused)
		}
		r.refused[key] = refusedUntil{answer, r.now().Add(taintMemory)}
	}
	return answer
}

// shared reports whether the answer for a pod is that for others with its tolerations.
func (r *taintRefusals) shared(args *si.PredicatesArgs) (key taintRefusal, shared bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := r.pods[args.AllocationKey]
	if pod == nil {
		return key, false
	}
	now := r.now()
	alone := !now.Before(pod.aloneFrom)
	switch {
	case !alone:
	case pod.aloneUntil.IsZero():
		pod.aloneUntil = now.Add(aloneFor)
	case now.After(pod.aloneUntil):
		alone, pod.aloneFrom, pod.aloneUntil = false, now.Add(aloneEach), time.Time{}
	}
	return taintRefusal{args.NodeID, pod.tolerations}, !alone
}

// forget forgets a pod that waits no longer.
func (r *taintRefusals) forget(allocationKey string) {
	r.mu.Lock()
	delete(r.pods, allocationKey)
	r.mu.Unlock()
}

// UpdateAllocation forgets pods that have a node.
func (r *taintRefusals) UpdateAllocation(response *si.AllocationResponse) error {
	for _, x := range response.GetNew() {
		r.forget(x.AllocationKey)
	}
	return r.ResourceManagerCallback.UpdateAllocation(response)
}

// note notes the tolerations of a pod that has no node.
func (r *taintRefusals) note(pod *v1.Pod) {
	if pod.Spec.NodeName != "" {
		return
	}
	text, err := json.Marshal(pod.Spec.Tolerations)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pods) >= maxPending {
		clear(r.pods)
	}
	r.pods[string(pod.UID)] = &pendingPod{tolerations: unique.Make(string(text)), aloneFrom: r.now().Add(aloneEach)}
}

// tolerationRecorder notes the tolerations of pods among the events of the shim.
type tolerationRecorder struct {
	kubeevents.EventRecorder
	refusals *taintRefusals
}

// Eventf records an event.
func (r tolerationRecorder) Eventf(object, related runtime.Object, kind, reason, action, note string, args ...any) {
	if pod, ok := object.(*v1.Pod); ok && reason == "Scheduling" {
		r.refusals.note(pod)
	}
	r.EventRecorder.Eventf(object, related, kind, reason, action, note, args...)
}
