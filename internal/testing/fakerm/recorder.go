package fakerm

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

// Recorder is the callback of a resource manager. It records every call as text, and the answers in them. The zero
// value accepts everything. Set the functions and Err before it is registered.
type Recorder struct {
	OnCall    func(call string)            // runs inside a call that brings answers; nil: nothing
	Predicate func(key, node string) error // the answer to Predicates; nil: every node is accepted
	OnState   func()                       // runs inside UpdateContainerSchedulingState; nil: nothing
	Err       error                        // what every call that brings answers returns

	mu                sync.Mutex // guards the rest
	calls             []string
	preemptionQueries []string
	states            []string
	answers           []Answer // that were not taken
	arrived           chan struct{}
	active            int // calls under way
	overlaps          bool
}

var _ api.ResourceManagerCallback = (*Recorder)(nil)

// Calls are the calls since the start, or since ForgetCalls.
func (r *Recorder) Calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// ForgetCalls lets Calls begin anew.
func (r *Recorder) ForgetCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

// PreemptionQueries are the calls of PreemptionPredicates, which are all refused.
func (r *Recorder) PreemptionQueries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.preemptionQueries)
}

// Overlapped reports whether a call was made during another one.
func (r *Recorder) Overlapped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overlaps
}

// Take returns the answers of some kinds since the last Take, and forgets the others. No kinds: all.
func (r *Recorder) Take(kinds ...Kind) []Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.answers
	r.answers = nil
	return slices.DeleteFunc(all, func(a Answer) bool { return len(kinds) > 0 && !slices.Contains(kinds, a.Kind) })
}

// Want waits for the next answers, which must have these texts. States of applications are passed over: they come at
// times of their own.
func (r *Recorder) Want(t testing.TB, texts ...string) {
	t.Helper()
	for _, want := range texts {
		assert.Equal(t, r.Next(t).String(), want)
	}
}

// answerTimeout bounds the time that Next waits.
const answerTimeout = 20 * time.Second

// Next waits for the next answer that is no state of an application, and takes it.
func (r *Recorder) Next(t testing.TB) Answer {
	t.Helper()
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	for {
		a, ok, arrived := r.pop()
		if ok && a.Kind != ApplicationState {
			return a
		}
		if ok {
			continue
		}
		select {
		case <-arrived:
		case <-timeout.C:
			t.Fatal("there is no answer")
		}
	}
}

// pop takes the first answer. Without one, arrived is closed by the next.
func (r *Recorder) pop() (a Answer, ok bool, arrived <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) > 0 {
		a, r.answers = r.answers[0], r.answers[1:]
		return a, true, nil
	}
	if r.arrived == nil {
		r.arrived = make(chan struct{})
	}
	return a, false, r.arrived
}

func (r *Recorder) record(answers []Answer, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.active++
	r.overlaps = r.overlaps || r.active > 1
	r.calls = append(r.calls, call)
	r.answers = append(r.answers, answers...)
	if r.arrived != nil && len(answers) > 0 {
		close(r.arrived)
		r.arrived = nil
	}
	r.mu.Unlock()
	if r.OnCall != nil {
		r.OnCall(call)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	return r.Err
}

// UpdateNode is part of the callback.
func (r *Recorder) UpdateNode(m *si.NodeResponse) error {
	var answers []Answer
	for _, n := range m.Accepted {
		answers = append(answers, Answer{Kind: NodeAccepted, ID: n.NodeID})
	}
	for _, n := range m.Rejected {
		answers = append(answers, Answer{Kind: NodeRejected, ID: n.NodeID, Text: n.Reason})
	}
	return r.record(answers, "nodes +%d -%d", len(m.Accepted), len(m.Rejected))
}

// UpdateApplication is part of the callback.
func (r *Recorder) UpdateApplication(m *si.ApplicationResponse) error {
	var answers []Answer
	for _, a := range m.Accepted {
		answers = append(answers, Answer{Kind: ApplicationAccepted, ID: a.ApplicationID, App: a.ApplicationID})
	}
	for _, a := range m.Rejected {
		answers = append(answers,
			Answer{Kind: ApplicationRejected, ID: a.ApplicationID, App: a.ApplicationID, Text: a.Reason})
	}
	states := ""
	for _, u := range m.Updated {
		states += " " + u.State
		answers = append(answers, Answer{Kind: ApplicationState, ID: u.ApplicationID, App: u.ApplicationID, Text: u.State})
	}
	return r.record(answers, "applications +%d -%d%s", len(m.Accepted), len(m.Rejected), states)
}

// UpdateAllocation is part of the callback.
func (r *Recorder) UpdateAllocation(m *si.AllocationResponse) error {
	var answers []Answer
	text := "allocations"
	for _, x := range m.New {
		text += fmt.Sprintf(" %s@%s", x.AllocationKey, x.NodeID)
		answers = append(answers, Answer{Kind: Allocated, ID: x.AllocationKey, App: x.ApplicationID, Node: x.NodeID})
	}
	for _, x := range m.Released {
		text += fmt.Sprintf(" -%s", x.AllocationKey)
		answers = append(answers, Answer{Kind: Released, ID: x.AllocationKey, App: x.ApplicationID, Text: x.Message})
	}
	for _, x := range m.RejectedAllocations {
		text += fmt.Sprintf(" !%s", x.AllocationKey)
		answers = append(answers, Answer{Kind: AskRejected, ID: x.AllocationKey, App: x.ApplicationID, Text: x.Reason})
	}
	return r.record(answers, "%s", text)
}

// Predicates is part of the callback.
func (r *Recorder) Predicates(m *si.PredicatesArgs) error {
	r.mu.Lock()
	r.calls = append(r.calls, fmt.Sprintf("fits %s@%s allocate=%v", m.AllocationKey, m.NodeID, m.Allocate))
	predicate := r.Predicate
	r.mu.Unlock()
	if predicate == nil {
		return nil
	}
	return predicate(m.AllocationKey, m.NodeID)
}

// PreemptionPredicates is part of the callback. It refuses.
func (r *Recorder) PreemptionPredicates(m *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.preemptionQueries = append(r.preemptionQueries,
		fmt.Sprintf("%s on %s without %v from %d", m.AllocationKey, m.NodeID, m.PreemptAllocationKeys, m.StartIndex))
	return nil
}

// SendEvent is part of the callback.
func (r *Recorder) SendEvent([]*si.EventRecord) { _ = r.record(nil, "events") }

// UpdateContainerSchedulingState is part of the callback. It may overlap with other calls, and is in States alone.
func (r *Recorder) UpdateContainerSchedulingState(m *si.UpdateContainerSchedulingStateRequest) {
	r.mu.Lock()
	r.states = append(r.states, fmt.Sprintf("%s of %s is %s: %s", m.AllocationKey, m.ApplicationID, m.State, m.Reason))
	onState := r.OnState
	r.mu.Unlock()
	if onState != nil {
		onState()
	}
}

// States are the calls of UpdateContainerSchedulingState.
func (r *Recorder) States() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states)
}
