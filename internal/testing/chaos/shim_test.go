package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
)

// shim is a resource manager over gRPC: it knows what really runs, and tells the core. It loses messages and streams,
// and recovers. What it does with an answer is what docs/PROTOCOL.md says.
type shim struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	serve   *endpoint
	link    [streamKinds]*link
	phase   phase
	waits   bool // this recovery waits for acceptance
	hold    bool // nodes stay unschedulable after a recovery
	inOrder bool // every recovery waits for acceptance

	nodes    map[string]*shimNode
	apps     map[string]*shimApp
	pods     map[string]*pod
	foreigns map[string]*foreignPod
	creating map[string]int          // by node: registrations that have no answer yet
	released []*si.AllocationRelease // since the registration: to be sent again by resync
	count    int
	events   map[string]int
}

// phase is how far a recovery is.
type phase int

const (
	unregistered phase = iota
	nodesSent          // the nodes are reported, and not all accepted
	appsSent           // the applications too
	live               // everything is reported
)

type shimNode struct {
	cores    int
	draining bool
}

type shimApp struct {
	request  *si.AddApplicationRequest
	virtual  bool // its task group has virtual placeholders
	accepted bool
	sent     bool
}

// pod is an ask or an allocation.
type pod struct {
	key, app, node string // node: empty, pending
	order          int
	size           int
	group          string
	placeholder    bool
	priority       int32
	tags           map[string]string // its labels and constraints; read-only
	ordered        bool              // the core has ordered its release
	orderedAs      si.TerminationType
	rejected       bool // its application or node was not known yet: to be sent again
}

type foreignPod struct {
	key, node string
	size      int
	rejected  bool // its node is not known yet: to be sent when it is
}

func (s *shim) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d: %s", s.seed, fmt.Sprintf(format, args...))
}

func (s *shim) name(kind string) string {
	s.count++
	return fmt.Sprintf("%s%d", kind, s.count)
}

func vcores(n int) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: int64(n) * millicoresPerCore}}}
}

func (s *shim) sendNode(id string, action si.NodeInfo_ActionFromRM) {
	if s.phase == unregistered {
		return
	}
	if action == si.NodeInfo_CREATE || action == si.NodeInfo_CREATE_DRAIN {
		s.creating[id]++
	}
	info := &si.NodeInfo{NodeID: id, Action: action, Attributes: attributesOf(id)}
	if n := s.nodes[id]; n != nil {
		info.SchedulableResource = vcores(n.cores)
	}
	s.link[nodeKind].enqueue(&si.NodeRequest{Nodes: []*si.NodeInfo{info}})
}

func (s *shim) sendApp(a *shimApp) {
	if s.phase >= appsSent {
		a.sent = true
		s.link[appKind].enqueue(&si.ApplicationRequest{New: []*si.AddApplicationRequest{proto.CloneOf(a.request)}})
	}
}

// sendPod sends a pod as an ask, or as an allocation if it runs.
func (s *shim) sendPod(p *pod) {
	p.rejected = false
	if s.phase == live {
		s.link[allocationKind].enqueue(&si.AllocationRequest{Allocations: []*si.Allocation{{
			AllocationKey: p.key, ApplicationID: p.app, NodeID: p.node, ResourcePerAlloc: vcores(p.size), TaskGroupName: p.group,
			Placeholder: p.placeholder, Priority: p.priority, AllocationTags: maps.Clone(p.tags),
			PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true},
		}}})
	}
}

func (s *shim) sendForeign(f *foreignPod) {
	f.rejected = false
	if s.phase == live {
		s.link[allocationKind].enqueue(&si.AllocationRequest{Allocations: []*si.Allocation{{
			AllocationKey: f.key, NodeID: f.node, ResourcePerAlloc: vcores(f.size),
			AllocationTags: map[string]string{"foreign": "default"},
		}}})
	}
}

func (s *shim) sendRelease(r *si.AllocationRelease) {
	if s.phase == live {
		s.released = append(s.released, r)
		s.link[allocationKind].enqueue(releaseOf(r))
	}
}

// releaseOf returns the request for a release.
func releaseOf(r *si.AllocationRelease) *si.AllocationRequest {
	return &si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{proto.CloneOf(r)},
	}}
}

// accepted reports whether a node is registered in the core as the shim sees it. A node that was removed and is back
// may have an answer to come from before.
func (s *shim) accepted(id string) bool { return s.nodes[id] != nil && s.creating[id] == 0 }

// end is the end of a pod: it finished, was deleted, or was told to.
func (s *shim) end(p *pod, as si.TerminationType) {
	delete(s.pods, p.key)
	s.sendRelease(&si.AllocationRelease{PartitionName: "default", ApplicationID: p.app, AllocationKey: p.key,
		TerminationType: as})
}

func (s *shim) endForeign(f *foreignPod) {
	delete(s.foreigns, f.key)
	s.sendRelease(&si.AllocationRelease{PartitionName: "default", AllocationKey: f.key,
		TerminationType: si.TerminationType_STOPPED_BY_RM})
}

func (s *shim) newPod(app string, like pod) {
	p := like
	p.key, p.app, p.order, p.node, p.ordered, p.rejected = s.name("pod-"), app, s.count, "", false, false
	s.pods[p.key] = &p
	s.sendPod(&p)
}

// replacePod is what a controller does when a pod was ended by the core: it makes another.
func (s *shim) replacePod(p *pod) {
	if s.apps[p.app] != nil && !p.placeholder && len(s.pods) < 40 {
		s.newPod(p.app, *p)
	}
}

func (s *shim) newApp() {
	id := s.name("app-")
	a := &shimApp{request: &si.AddApplicationRequest{
		ApplicationID: id, PartitionName: "default", QueueName: []string{"root.a", "root.b"}[s.rng.IntN(2)],
		Ugi:  &si.UserGroupInformation{User: []string{"ann", "bob"}[s.rng.IntN(2)], Groups: []string{"dev"}},
		Tags: map[string]string{"application.create.force": "true"},
	}}
	s.apps[id] = a
	n, size := 1+s.rng.IntN(3), 1+s.rng.IntN(3)
	switch s.rng.IntN(6) {
	case 0:
		s.makeVirtual(a, n)
	case 1, 2, 3:
		a.request.GangSchedulingStyle, a.request.ExecutionTimeoutMilliSeconds = "Soft", int64(10_000+s.rng.IntN(60_000))
		a.request.PlaceholderAsk = vcores(n * size)
	}
	s.sendApp(a)
	for range n {
		switch {
		case a.request.PlaceholderAsk != nil:
			s.newPod(id, pod{size: size, group: "g", placeholder: true})
		case a.virtual:
			s.newPod(id, pod{size: size, group: virtualGroup})
		}
	}
	for range 1 + s.rng.IntN(2) {
		s.newPodOf(id)
	}
}

func (s *shim) newPodOf(app string) {
	p := pod{size: 1 + s.rng.IntN(3), priority: int32(s.rng.IntN(8) / 6)}
	if ask := s.apps[app].request.PlaceholderAsk; ask != nil && s.rng.IntN(4) > 0 {
		p.group, p.priority = "g", 0
	} else if s.rng.IntN(3) == 0 {
		p.tags = constraintTags[s.rng.IntN(len(constraintTags))]
	}
	s.newPod(app, p)
}

func (s *shim) addNode(id string) {
	s.nodes[id] = &shimNode{cores: nodeCores}
	if s.phase == live && !s.hold && s.rng.IntN(2) == 0 {
		s.sendNode(id, si.NodeInfo_CREATE)
		return
	}
	s.sendNode(id, si.NodeInfo_CREATE_DRAIN)
	if s.phase == live && !s.hold {
		s.sendNode(id, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
	}
}

// failNode is the failure of a node. What ran there has ended, which is said beside the removal of the node: the
// streams have no order, and a report of an allocation may be on its way.
func (s *shim) failNode(id string) {
	delete(s.nodes, id)
	s.sendNode(id, si.NodeInfo_DECOMISSION)
	for _, p := range s.podsWhere(func(p *pod) bool { return p.node == id }) {
		s.end(p, si.TerminationType_STOPPED_BY_RM)
		s.replacePod(p)
	}
	for _, key := range slices.Sorted(maps.Keys(s.foreigns)) {
		if f := s.foreigns[key]; f.node == id {
			s.endForeign(f)
		}
	}
}

func (s *shim) removeApp(id string) {
	for _, p := range s.podsWhere(func(p *pod) bool { return p.app == id }) {
		s.end(p, si.TerminationType_STOPPED_BY_RM)
	}
	delete(s.apps, id)
	if s.phase >= appsSent {
		s.link[appKind].enqueue(&si.ApplicationRequest{Remove: []*si.RemoveApplicationRequest{{ApplicationID: id,
			PartitionName: "default"}}})
	}
}

// podsWhere returns the pods that pass, in the order of their creation.
func (s *shim) podsWhere(pass func(*pod) bool) (out []*pod) {
	for _, p := range s.pods {
		if pass(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(p, q *pod) int { return p.order - q.order })
	return out
}

// pick returns one of several; ok is false if there is none.
func pick[T any](s *shim, all []T) (one T, ok bool) {
	if len(all) == 0 {
		return one, false
	}
	return all[s.rng.IntN(len(all))], true
}

// change changes the cluster at random.
func (s *shim) change() {
	switch s.rng.IntN(16) {
	case 0, 1:
		if len(s.apps) < 6 {
			s.newApp()
		}
	case 2, 3, 4, 5:
		if id, ok := pick(s, slices.Sorted(maps.Keys(s.apps))); ok && len(s.pods) < 40 {
			s.newPodOf(id)
		}
	case 6, 7, 8:
		if p, ok := pick(s, s.podsWhere(func(p *pod) bool { return !p.ordered })); ok {
			s.end(p, si.TerminationType_STOPPED_BY_RM)
		}
	case 9:
		id := fmt.Sprint("n", s.rng.IntN(4))
		if s.nodes[id] == nil {
			s.addNode(id)
			s.events["a node comes back"]++
		} else if s.rng.IntN(2) == 0 {
			s.failNode(id)
			s.events["a node fails"]++
		}
	case 10:
		if id, ok := pick(s, slices.Sorted(maps.Keys(s.nodes))); ok && s.phase == live && !s.hold {
			s.drain(id, !s.nodes[id].draining)
		}
	case 11:
		if id, ok := pick(s, slices.Sorted(maps.Keys(s.nodes))); ok && len(s.foreigns) < 6 {
			f := &foreignPod{key: s.name("foreign-"), node: id, size: 1}
			s.foreigns[f.key] = f
			f.rejected = !s.accepted(id)
			if !f.rejected {
				s.sendForeign(f)
			}
		}
	case 12:
		if key, ok := pick(s, slices.Sorted(maps.Keys(s.foreigns))); ok {
			s.endForeign(s.foreigns[key])
		}
	case 13:
		if id, ok := pick(s, slices.Sorted(maps.Keys(s.apps))); ok && s.rng.IntN(4) == 0 {
			s.removeApp(id)
		}
	case 14:
		if p, ok := pick(s, s.podsWhere(func(p *pod) bool { return p.ordered })); ok {
			s.confirm(p)
		}
	case 15:
		<-time.After(time.Duration(s.rng.IntN(20)) * time.Second)
		synctest.Wait()
	}
}

func (s *shim) drain(id string, draining bool) {
	s.nodes[id].draining = draining
	if draining {
		s.sendNode(id, si.NodeInfo_DRAIN_NODE)
	} else {
		s.sendNode(id, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
	}
}

// confirm ends a pod as the core has ordered.
func (s *shim) confirm(p *pod) {
	s.end(p, p.orderedAs)
	if p.orderedAs == si.TerminationType_PREEMPTED_BY_SCHEDULER && s.rng.IntN(2) == 0 {
		s.replacePod(p)
	}
}
