package entrypoint

import (
	"errors"
	"testing"
	"time"

	"github.com/apache/yunikorn-k8shim/pkg/common/events"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// taintedShim answers predicates about nodes with an error, and counts the calls.
type taintedShim struct {
	shim
	answers map[string]error // by node; nil: accepted
	calls   int
}

func (s *taintedShim) Predicates(args *si.PredicatesArgs) error {
	s.calls++
	return s.answers[args.NodeID]
}

// waits has the shim record that a pod waits.
func waits(uid string, tolerations ...string) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	for _, key := range tolerations {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
	events.GetRecorder().Eventf(pod, nil, v1.EventTypeNormal, "Scheduling", "Scheduling", "%s waits", uid)
}

// remembering returns a callback with a clock that the test moves.
func remembering(t *testing.T) (*taintRefusals, *taintedShim, *time.Time) {
	t.Helper()
	t.Cleanup(func() { events.SetRecorder(events.NewMockedRecorder()) })
	events.SetRecorder(events.NewMockedRecorder())
	shim := &taintedShim{answers: map[string]error{
		"tainted":  errors.Join(errors.New("failed plugin: 'TaintToleration'"), errors.New("untolerated")),
		"unlike":   errors.Join(errors.New("failed plugin: 'NodeAffinity'"), errors.New("no match")),
		"accepted": nil,
	}}
	r, now := rememberTaintRefusals(shim), time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	return r, shim, &now
}

// ask returns the calls of the shim for one predicate of a pod, which must have its answer.
func ask(t *testing.T, r *taintRefusals, shim *taintedShim, pod, node string) (calls int) {
	t.Helper()
	before := shim.calls
	answer := r.Predicates(&si.PredicatesArgs{AllocationKey: pod, NodeID: node, Allocate: true})
	assert.Equal(t, answer, shim.answers[node])
	return shim.calls - before
}

// Pods with the same tolerations share what a node refuses for its taints, for half a second.
func TestTaintRefusals_PodsWithTheSameTolerationsShareAnAnswer(t *testing.T) {
	r, shim, now := remembering(t)
	waits("a")
	waits("b")
	waits("tolerant", "gpu")
	assert.Equal(t, ask(t, r, shim, "a", "tainted"), 1)
	assert.Equal(t, ask(t, r, shim, "a", "tainted"), 0)
	assert.Equal(t, ask(t, r, shim, "b", "tainted"), 0)
	assert.Equal(t, ask(t, r, shim, "tolerant", "tainted"), 1)
	assert.Equal(t, ask(t, r, shim, "without event", "tainted"), 1)
	for range 2 { // nothing else is remembered
		assert.Equal(t, ask(t, r, shim, "b", "unlike"), 1)
		assert.Equal(t, ask(t, r, shim, "b", "accepted"), 1)
	}
	*now = now.Add(taintMemory)
	shim.answers["tainted"] = nil
	assert.Equal(t, ask(t, r, shim, "b", "tainted"), 1)
}

// Tolerations may be added to a pod that waits, without an event: from time to time it is asked about by itself, for
// long enough that all nodes are.
func TestTaintRefusals_APodIsAskedAboutAloneFromTimeToTime(t *testing.T) {
	r, shim, now := remembering(t)
	waits("a")
	for range 2 {
		*now = now.Add(aloneEach)
		waits("other") // which shares answers now
		assert.Equal(t, ask(t, r, shim, "other", "tainted"), 1)
		assert.Equal(t, ask(t, r, shim, "a", "tainted"), 1)
		*now = now.Add(aloneFor)
		assert.Equal(t, ask(t, r, shim, "a", "tainted"), 1)
		*now = now.Add(1)
		assert.Equal(t, ask(t, r, shim, "other", "tainted"), 1)
		assert.Equal(t, ask(t, r, shim, "a", "tainted"), 0)
	}
}

// What waits no longer is forgotten.
func TestTaintRefusals_ForgetsPodsThatHaveANodeOrAreGone(t *testing.T) {
	t.Cleanup(func() { events.SetRecorder(events.NewMockedRecorder()) })
	events.SetRecorder(events.NewMockedRecorder())
	s, _ := running(t, environment{envHTTPAddress: "none", envRecoveryQuiet: "0"})
	rm := &shim{}
	_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: "rm", PolicyGroup: "queues", Version: "1",
	}, rm)
	assert.NilError(t, err)
	remembered := func() int {
		taints := s.RMProxy.(*nodeRefusals).taints
		taints.mu.Lock()
		defer taints.mu.Unlock()
		return len(taints.pods)
	}
	addNodes(t, s, "a")
	addApplication(t, s)
	waits("placed")
	waits("deleted")
	bound := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "bound"}, Spec: v1.PodSpec{NodeName: "a"}}
	events.GetRecorder().Eventf(bound, nil, v1.EventTypeNormal, "Scheduling", "Scheduling", "")
	assert.Equal(t, remembered(), 2)
	assert.Equal(t, place(t, s, rm, "placed"), "a")
	assert.Equal(t, remembered(), 1)
	assert.NilError(t, s.RMProxy.UpdateAllocation(&si.AllocationRequest{
		RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{AllocationKey: "deleted", ApplicationID: "app", PartitionName: "[rm]default"},
		}},
	}))
	assert.Equal(t, remembered(), 0)
}
