package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// session is one registration and its streams. The goroutine of loop has all of its state.
type session struct {
	settings
	*cluster
	scheduler si.SchedulerClient
	hints     canopyv1.HintsClient
	mirror    *mirror // nil: the scheduler has classes and budgets of its own
	group     *errgroup.Group
	called    chan func() // what to do after an API call that has ended

	nodes        map[string]*node        // that were registered
	applications map[string]*application // that were submitted
	pods         map[object]*pod         // that the scheduler knows, or is to know
	keys         map[string]*pod         // the same by allocation key, the UID
	gangs        map[object]*gang        // of pod groups
	touched      map[object]bool         // pod groups of pods whose state has changed
	live         bool                    // the recovery is over: changes are reported as they come
	held         []*si.Allocation        // of a recovery, to be sent together

	waiting           chan waitingStates
	started           time.Time
	nodeStream        *stream[si.NodeRequest, si.NodeResponse]
	applicationStream *stream[si.ApplicationRequest, si.ApplicationResponse]
	allocationStream  *stream[si.AllocationRequest, si.AllocationResponse]
}

func newSession(s settings, c *cluster, conn grpc.ClientConnInterface, m *mirror) *session {
	return &session{
		settings: s, cluster: c, scheduler: si.NewSchedulerClient(conn), hints: canopyv1.NewHintsClient(conn), mirror: m,
		called: make(chan func()), waiting: make(chan waitingStates),
		nodes: map[string]*node{}, applications: map[string]*application{}, pods: map[object]*pod{}, keys: map[string]*pod{},
		gangs: map[object]*gang{}, touched: map[object]bool{}, started: time.Now(),
		nodeStream:        newStream[si.NodeRequest, si.NodeResponse](),
		applicationStream: newStream[si.ApplicationRequest, si.ApplicationResponse](),
		allocationStream:  newStream[si.AllocationRequest, si.AllocationResponse](),
	}
}

// The most that the scheduler may take to answer a registration, or the nodes and applications of a recovery.
const recoveryTimeout = 2 * time.Minute

// run registers and keeps the streams; it ends with the first of them, but not with that of waiting states.
func (s *session) run(ctx context.Context) error {
	s.metrics.sessions.Inc()
	s.metrics.pods.Reset()
	registering, cancel := context.WithTimeout(ctx, recoveryTimeout)
	defer cancel()
	_, err := s.scheduler.RegisterResourceManager(registering,
		&si.RegisterResourceManagerRequest{RmID: s.rmID, Version: "1.9.0", PolicyGroup: "queues"})
	if err != nil {
		return fmt.Errorf("registration: %w", err)
	}
	s.group, ctx = errgroup.WithContext(ctx)
	// The first message of a stream names the resource manager; later ones need not.
	s.nodeStream.put(&si.NodeRequest{RmID: s.rmID})
	s.applicationStream.put(&si.ApplicationRequest{RmID: s.rmID})
	s.allocationStream.put(&si.AllocationRequest{RmID: s.rmID})
	nodes, err := s.scheduler.UpdateNode(ctx)
	s.nodeStream.run(ctx, s.group, "nodes", nodes, err)
	applications, err := s.scheduler.UpdateApplication(ctx)
	s.applicationStream.run(ctx, s.group, "applications", applications, err)
	allocations, err := s.scheduler.UpdateAllocation(ctx)
	s.allocationStream.run(ctx, s.group, "allocations", allocations, err)
	s.group.Go(func() error { return s.readWaitingStates(ctx) })
	s.group.Go(func() error { return s.loop(ctx) })
	return s.group.Wait()
}

// loop tells the scheduler what there is, in the order of the interface, and then what changes.
func (s *session) loop(ctx context.Context) error {
	err := s.recover(ctx)
	for err == nil {
		err = s.step(ctx, s.changes)
	}
	return err
}

// recover reports nodes, which stay unschedulable; then applications; then pods that run; then asks. Changes wait
// meanwhile.
func (s *session) recover(ctx context.Context) error {
	nodes, _ := s.nodeLister.List(labels.Everything()) // it has no error
	for _, n := range nodes {
		s.registerNode(n)
	}
	if err := s.stepUntil(ctx, "nodes", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(s.nodes)), func(n *node) bool { return !n.accepted })
	}); err != nil {
		return err
	}
	var pods, pending []*v1.Pod
	for _, o := range s.podIndex.List() {
		switch p := o.(*v1.Pod); s.goal(p) {
		case reported:
			pods = append(pods, p)
		case asked:
			pending = append(pending, p)
		}
	}
	running := len(pods)
	// The streams are not ordered among each other: a node may be schedulable before all asks are there.
	slices.SortFunc(pending, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	pods = append(pods, pending...)
	// The first pod of an application makes it: one that runs, so that the application is placed whatever the rules say
	// now.
	for _, p := range pods {
		if s.ours(p) {
			s.submitted(p, s.applicationOf(p))
		}
	}
	if err := s.stepUntil(ctx, "applications", func() bool {
		all := slices.Collect(maps.Values(s.applications))
		return !slices.ContainsFunc(all, func(a *application) bool { return !a.accepted })
	}); err != nil {
		return err
	}
	for _, p := range pods {
		s.reconcilePod(ctx, nameOf(p))
	}
	s.sendHeld()
	s.live = true
	for name := range s.nodes {
		s.reconcileNode(name)
	}
	s.metrics.ready.Store(true)
	slog.Info("the scheduler knows the cluster", "nodes", len(s.nodes), "applications", len(s.applications), "running",
		running, "pending", len(pending))
	return nil
}

// stepUntil takes answers until all are there.
func (s *session) stepUntil(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, recoveryTimeout,
		fmt.Errorf("not all %s were answered after %v", what, recoveryTimeout))
	defer cancel()
	for !done() {
		if err := s.step(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// step waits for the next thing that happens.
func (s *session) step(ctx context.Context, changes <-chan object) error {
	select {
	case m := <-s.nodeStream.answers:
		s.onNodes(ctx, m)
	case m := <-s.applicationStream.answers:
		s.onApplications(ctx, m)
	case m := <-s.allocationStream.answers:
		s.onAllocations(ctx, m)
	case m := <-s.waiting:
		s.onWaitingStates(ctx, m)
	case then := <-s.called:
		then()
	case o := <-changes:
		switch o.kind {
		case nodeKind:
			s.reconcileNode(o.name)
		case groupKind:
			s.reconcileGroup(ctx, o)
		case podKind:
			s.reconcilePod(ctx, o)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.updateGroups(ctx)
	return nil
}

// start makes an API call beside the loop, which then does what follows from its result.
func (s *session) start(ctx context.Context, call func() error, then func(error)) {
	s.group.Go(func() error {
		err := call()
		select {
		case s.called <- func() { then(err) }:
		case <-ctx.Done():
		}
		return nil
	})
}
