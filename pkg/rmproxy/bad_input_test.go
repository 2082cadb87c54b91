package rmproxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// badInput is one kind of input that is wrong, contradicts what is known or has no effect, and what answers it. Where
// the interface has an answer, that is a rejection; else an event or a line of the log that names the thing, and a
// count.
//
// There are the nodes n1 and n2 of 100, the application app in root.a with the allocation "runs" of 10 on n1 and the
// pending ask "waits" of 1000, both of priority 3 and task group tg, and the foreign allocation "other" of 10 on n2.
type badInput struct {
	what  string                        // a sentence; it begins with the number of the rule
	given func(t *testing.T, r *badRig) // what is there besides; nil: nothing

	nodes       []*si.NodeInfo
	apps        *si.ApplicationRequest
	allocations []*si.Allocation
	releases    []*si.AllocationRelease

	answers []string          // all of them, in order
	events  []string          // each is a part of an event that the partition has
	logs    []string          // each is a part of a line of the log with the message "refused" (RMI-51)
	counts  map[string]uint64 // of canopy_message_elements_ignored_total, by kind; kinds that are missing are 0
	used    string            // what is allocated, as "n1=10 n2=0"; empty: as before
}

// badRig is a resource manager over gRPC that records what it receives.
type badRig struct {
	*rig
	rm       *fakerm.GRPC
	recorder *fakerm.Recorder

	mu     sync.Mutex // guards events
	events []string
}

func newBadRig(t *testing.T) *badRig {
	r := &badRig{recorder: &fakerm.Recorder{}}
	r.rig = newBubbleRig(t, testOptions{OnEffects: func(_ string, effects []scheduler.Effect) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range effects {
			r.events = append(r.events, fmt.Sprint(e))
		}
	}})
	r.rm = fakerm.OverGRPC(r.ctx, r.client)
	_, err := r.rm.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: twoPartitions},
		r.recorder)
	assert.NilError(t, err)
	r.send(badInput{nodes: []*si.NodeInfo{zoneNode("n1"), zoneNode("n2")}, apps: newApps(fakerm.App("app", "root.a"))})
	r.send(badInput{allocations: []*si.Allocation{on("n1", known("runs")), sized(1000, known("waits")),
		on("n2", taggedAsk(fakerm.Ask("other", ""), "foreign", "default"))}})
	assert.Equal(t,
		lines(r.recorder.Take(fakerm.NodeAccepted, fakerm.ApplicationAccepted, fakerm.Allocated, fakerm.AskRejected)),
		"accepted node n1\naccepted node n2\naccepted application app\nallocated runs (app) on n1\n")
	return r
}

// send sends the messages of a row, and waits until everything that follows has happened.
func (r *badRig) send(in badInput) {
	r.t.Helper()
	synctest.Wait()
	if in.nodes != nil {
		assert.NilError(r.t, r.rm.UpdateNode(&si.NodeRequest{Nodes: in.nodes}))
	}
	synctest.Wait()
	if in.apps != nil {
		assert.NilError(r.t, r.rm.UpdateApplication(in.apps))
	}
	synctest.Wait()
	if in.allocations != nil || in.releases != nil {
		assert.NilError(r.t, r.rm.UpdateAllocation(&si.AllocationRequest{
			Allocations: in.allocations, Releases: &si.AllocationReleasesRequest{AllocationsToRelease: in.releases},
		}))
	}
	time.Sleep(3 * time.Second) // of the bubble: waiting states are evaluated after one (ASK-64)
	synctest.Wait()
}

// reload puts a configuration in force that the resource manager did not send.
func (r *badRig) reload(text string) {
	r.t.Helper()
	p, err := r.p.Reloads().Read(reload.REST, "", []byte(text))
	assert.NilError(r.t, err)
	_, err = r.p.Reloads().Apply(r.t.Context(), p)
	assert.NilError(r.t, err)
	synctest.Wait()
}

// used is what is allocated on the nodes of the default partition, foreign allocations included.
func (r *badRig) used() string {
	var all []string
	for n := range r.snapshot("default").Nodes.All() {
		all = append(all, fmt.Sprintf("%s=%d", n.ID, n.Allocated.Get("memory")+n.Occupied.Get("memory")))
	}
	return strings.Join(all, " ")
}

func (r *badRig) counts() map[string]uint64 {
	all := maps.Clone(r.p.Counts().Ignored)
	maps.DeleteFunc(all, func(_ string, n uint64) bool { return n == 0 })
	return all
}

func (in badInput) run(t *testing.T) {
	r := newBadRig(t)
	if in.given != nil {
		in.given(t, r)
	}
	r.recorder.Take()
	before, used := r.counts(), r.used()
	r.mu.Lock()
	r.events = nil
	r.mu.Unlock()
	r.send(in)

	var answers []string
	for _, a := range r.recorder.Take() {
		if a.Kind != fakerm.ApplicationState {
			answers = append(answers, a.String())
		}
	}
	assert.DeepEqual(t, answers, in.answers)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assertRejectionsAreRecorded(t, answers)
	for _, want := range in.events {
		assert.Assert(t, slices.ContainsFunc(r.events, func(e string) bool { return strings.Contains(e, want) }),
			"%q is not in\n%s", want, strings.Join(r.events, "\n"))
	}
	for _, want := range in.logs {
		found := false
		for _, line := range r.logs.FilterMessage("refused").All() {
			found = found || strings.Contains(fmt.Sprint(line.ContextMap()), want)
		}
		assert.Assert(t, found, "%q is not in %v", want, r.logs.FilterMessage("refused").All())
	}
	counts := r.counts()
	for kind, n := range before {
		counts[kind] -= n
		if counts[kind] == 0 {
			delete(counts, kind)
		}
	}
	if in.counts == nil {
		in.counts = map[string]uint64{}
	}
	assert.DeepEqual(t, counts, in.counts)
	if in.used != "" {
		used = in.used
	}
	assert.Equal(t, r.used(), used)
}

// assertRejectionsAreRecorded asserts that each rejected application and ask is an effect of a partition, from which
// events, log lines and metrics are made, and that each rejected application is in the list of REST (APP-48).
func (r *badRig) assertRejectionsAreRecorded(t *testing.T, answers []string) {
	listed := map[string]bool{}
	for _, partition := range r.p.Cluster().Partitions() {
		for ended := range r.snapshot(partition).Rejected.All() {
			listed[ended.ID] = true
		}
	}
	for _, a := range answers {
		text, ofApplication := strings.CutPrefix(a, "rejected application ")
		if ofApplication || strings.HasPrefix(a, "rejected ask ") {
			assert.Assert(t, slices.Contains(r.events, a), "%q is no effect of a partition:\n%s", a,
				strings.Join(r.events, "\n"))
		}
		if id, _, _ := strings.Cut(text, ":"); ofApplication && id != "app" { // app exists
			assert.Assert(t, listed[id], "%q is not listed", id)
		}
	}
}

// Every kind of bad input is answered over gRPC: by a rejection with the reason, which names the thing, or, where the
// interface has no answer, by an event or a line of the log and a count. Nothing is silent but what is no mistake, and
// nothing else of the message is lost (RMI-49, RMI-51, RMI-79).
func TestBadInput_EachRowIsAnsweredOverGRPC(t *testing.T) {
	for _, rows := range [][]badInput{
		badPartitions(), badAsks(), unmetAsks(), badReports(), knownKeys(), badForeign(), badReleases(), badNodes(),
		badApplications(),
	} {
		for _, in := range rows {
			t.Run(in.what, func(t *testing.T) { synctest.Test(t, in.run) })
		}
	}
}

func newApps(apps ...*si.AddApplicationRequest) *si.ApplicationRequest {
	return &si.ApplicationRequest{New: apps}
}

func zoneNode(id string) *si.NodeInfo {
	n := fakerm.Node(id)
	n.Attributes = map[string]string{"zone": "a"}
	return n
}

// known is a message about one of the two asks of application app that are there.
func known(key string) *si.Allocation {
	x := fakerm.Ask(key, "app")
	x.Priority, x.TaskGroupName = 3, "tg"
	return x
}

func on(node string, x *si.Allocation) *si.Allocation {
	x.NodeID = node
	return x
}

func sized(n int64, x *si.Allocation) *si.Allocation {
	x.ResourcePerAlloc = fakerm.Resource(n, n)
	return x
}

func taggedAsk(x *si.Allocation, tag, value string) *si.Allocation {
	x.AllocationTags = map[string]string{tag: value}
	return x
}

// with is x after change.
func with(x *si.Allocation, change func(*si.Allocation)) *si.Allocation {
	change(x)
	return x
}
