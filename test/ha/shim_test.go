package ha

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// shim is a resource manager that follows the leader: it goes where the trailer of a standby says, or else to the next
// member, and reports to each leader what runs. It refuses answers of an epoch that is older than one that it has seen.
type shim struct {
	members  []string                // addresses
	nodes    []*si.NodeInfo          // that it reports
	requests map[string]*si.Resource // of tasks; a task that is not in it requests little
	cancel   context.CancelFunc
	done     chan struct{}

	mu       sync.Mutex
	stream   si.Scheduler_UpdateAllocationClient // nil: there is no session
	epoch    int64                               // the highest that was seen
	pending  map[string]bool
	placed   map[string]string // task to node
	finished map[string]string // tasks that were placed, and have ended, to node
	reported map[string]string // tasks that the session has reported as running, and that were not answered yet, to node
	used     map[string]use    // node to what the placed tasks use of it
	sessions int
	ended    error // why the last session has ended
	followed int   // redirections by a trailer
	refused  int   // answers of an older epoch
	problems []string
}

func newShim(g *group) *shim {
	node := fakerm.Node("n1")
	node.SchedulableResource = fakerm.Resource(1e6, 1e6)
	return newShimWith(g, []*si.NodeInfo{node}, nil)
}

func newShimWith(g *group, nodes []*si.NodeInfo, requests map[string]*si.Resource) *shim {
	s := &shim{
		nodes: nodes, requests: requests, pending: map[string]bool{}, placed: map[string]string{},
		finished: map[string]string{}, used: map[string]use{}, done: make(chan struct{}),
	}
	for _, n := range nodes {
		s.used[n.NodeID] = use{}
	}
	for _, m := range g.members {
		s.members = append(s.members, m.grpc)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx)
	g.t.Cleanup(s.stop)
	return s
}

func (s *shim) stop() {
	s.cancel()
	<-s.done
}

// submit asks for tasks, now and after each registration until they are placed.
func (s *shim) submit(tasks ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &si.AllocationRequest{RmID: "shim"}
	for _, t := range tasks {
		s.pending[t] = true
		m.Allocations = append(m.Allocations, s.ask(t))
	}
	if s.stream != nil {
		_ = s.stream.Send(m) // a session that has ended is followed by one that sends them
	}
}

// finish ends tasks that are placed, and says so to the leader; the next one is not told of them.
func (s *shim) finish(tasks ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	releases := &si.AllocationReleasesRequest{}
	for _, t := range tasks {
		node := s.placed[t]
		s.used[node].add(s.ask(t).ResourcePerAlloc, -1)
		s.finished[t] = node
		delete(s.placed, t)
		releases.AllocationsToRelease = append(releases.AllocationsToRelease, &si.AllocationRelease{
			ApplicationID: "app", AllocationKey: t, TerminationType: si.TerminationType_STOPPED_BY_RM,
		})
	}
	if s.stream != nil && len(tasks) > 0 {
		_ = s.stream.Send(&si.AllocationRequest{RmID: "shim", Releases: releases})
	}
}

// use is how much of each resource is in use.
type use map[string]int64

func (u use) add(r *si.Resource, times int64) {
	for name, q := range r.Resources {
		u[name] += times * q.Value
	}
}

// queues is the configuration of the shim: each leader gets it with the registration.
const queues = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: default}]}]}]\n"

func (s *shim) ask(task string) *si.Allocation {
	x := fakerm.Ask(task, "app")
	x.ResourcePerAlloc = fakerm.Resource(1, 1)
	if r, ok := s.requests[task]; ok {
		x.ResourcePerAlloc = r
	}
	return x
}

// run has one session after the other.
func (s *shim) run(ctx context.Context) {
	defer close(s.done)
	for i := 0; ctx.Err() == nil; i++ {
		next := s.members[i%len(s.members)]
		for next != "" && ctx.Err() == nil {
			next = s.session(ctx, next)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// session is that with one member, until it ends. It returns where the leader is; empty: that is not known.
func (s *shim) session(ctx context.Context, address string) (leader string) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return ""
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := si.NewSchedulerClient(conn)
	var head, tail metadata.MD
	registering, registered := context.WithTimeout(ctx, time.Second)
	_, err = client.RegisterResourceManager(registering,
		&si.RegisterResourceManagerRequest{RmID: "shim", Version: "1", Config: queues}, grpc.Header(&head),
		grpc.Trailer(&tail))
	registered()
	if err != nil {
		if at := tail.Get("canopy-leader"); len(at) == 1 && at[0] != address {
			s.mu.Lock()
			s.followed++
			s.mu.Unlock()
			return at[0]
		}
		return ""
	}
	if s.isOld(head) {
		return ""
	}
	err = s.recover(ctx, client)
	s.mu.Lock()
	s.stream, s.ended = nil, err
	s.mu.Unlock()
	return ""
}

// isOld reports whether the headers of an answer have an older epoch than one that was seen.
func (s *shim) isOld(head metadata.MD) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	epoch := int64(0)
	if v := head.Get("canopy-epoch"); len(v) == 1 {
		epoch, _ = strconv.ParseInt(v[0], 10, 64)
	}
	if epoch == 0 {
		s.problems = append(s.problems, "an answer without an epoch")
	}
	if epoch < s.epoch {
		s.refused++
		return true
	}
	s.epoch = epoch
	return false
}

// recover reports everything to a leader with which the shim has registered, and takes its answers until the stream
// ends.
func (s *shim) recover(ctx context.Context, client si.SchedulerClient) error {
	nodes, err := client.UpdateNode(ctx)
	if err != nil {
		return err
	}
	if err := nodes.Send(&si.NodeRequest{RmID: "shim", Nodes: s.nodes}); err != nil {
		return err
	}
	for accepted := 0; accepted < len(s.nodes); {
		r, err := nodes.Recv()
		if err != nil || len(r.Accepted) == 0 {
			return fmt.Errorf("the nodes: %v, %w", r, err)
		}
		accepted += len(r.Accepted)
	}
	apps, err := client.UpdateApplication(ctx)
	if err != nil {
		return err
	}
	if err := apps.Send(&si.ApplicationRequest{RmID: "shim",
		New: []*si.AddApplicationRequest{fakerm.App("app", "root.default")}}); err != nil {
		return err
	}
	if r, err := apps.Recv(); err != nil || len(r.Accepted) != 1 {
		return fmt.Errorf("the application: %v, %w", r, err)
	}
	allocations, err := client.UpdateAllocation(ctx)
	if err != nil {
		return err
	}
	if err := s.begin(allocations); err != nil {
		return err
	}
	for {
		r, err := allocations.Recv()
		if err != nil {
			return err
		}
		head, err := allocations.Header()
		if err != nil {
			return err
		}
		if s.isOld(head) {
			return errors.New("an answer of an older epoch")
		}
		s.take(r)
	}
}

// begin reports the tasks that run, and asks for those that do not.
func (s *shim) begin(stream si.Scheduler_UpdateAllocationClient) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &si.AllocationRequest{RmID: "shim"}
	s.reported = maps.Clone(s.placed)
	for t, node := range s.placed {
		x := s.ask(t)
		x.NodeID = node
		m.Allocations = append(m.Allocations, x)
	}
	for t := range s.pending {
		m.Allocations = append(m.Allocations, s.ask(t))
	}
	s.sessions++
	s.stream = stream
	return stream.Send(m)
}

// take starts the tasks that a leader has placed.
func (s *shim) take(r *si.AllocationResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range r.New {
		switch {
		case s.pending[x.AllocationKey]:
			delete(s.pending, x.AllocationKey)
			s.placed[x.AllocationKey] = x.NodeID
			s.use(x.AllocationKey, x.NodeID)
		case s.reported[x.AllocationKey] == x.NodeID:
			delete(s.reported, x.AllocationKey) // the answer to a report, once
		default:
			s.problems = append(s.problems, fmt.Sprintf("%s is placed twice", x.AllocationKey))
		}
	}
	for _, x := range r.RejectedAllocations {
		s.problems = append(s.problems, fmt.Sprintf("%s is rejected: %s", x.AllocationKey, x.Reason))
	}
	for _, x := range r.Released {
		if _, ok := s.finished[x.AllocationKey]; ok {
			continue // the answer to finish
		}
		s.problems = append(s.problems, fmt.Sprintf("%s is released: %s", x.AllocationKey, x.Message))
	}
}

// use counts a task on its node, which must have space for it.
func (s *shim) use(task, node string) {
	used, ok := s.used[node]
	if !ok {
		s.problems = append(s.problems, fmt.Sprintf("%s is placed on %q, which is no node", task, node))
		return
	}
	used.add(s.ask(task).ResourcePerAlloc, 1)
	for _, n := range s.nodes {
		if n.NodeID != node {
			continue
		}
		for name, q := range used {
			if has := n.SchedulableResource.Resources[name].GetValue(); q > has {
				s.problems = append(s.problems, fmt.Sprintf("with %s, node %s uses %d of its %d %s", task, node, q, has, name))
			}
		}
	}
}

// allPlaced is an error while a task waits.
func (s *shim) allPlaced() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.pending); n > 0 {
		return fmt.Errorf("%d tasks wait in session %d, epoch %d; the one before has ended: %v", n, s.sessions, s.epoch,
			s.ended)
	}
	return nil
}

// state is a copy of what the shim knows.
func (s *shim) state() (placed, sessions, followed int, epoch int64, problems []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.placed) + len(s.finished), s.sessions, s.followed, s.epoch, append([]string{}, s.problems...)
}
