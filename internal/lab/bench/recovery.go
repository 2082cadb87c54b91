package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// recoveryRounds is the number of times that a resource manager registers again with the same server, after the first
// time.
const recoveryRounds = 3

// measureRecovery measures how long a server needs after a registration until it decides again: a resource manager
// reports all nodes, applications and running allocations, which are half of the asks, and asks for the other half.
func measureRecovery(ctx context.Context, s *stream, r *result, j Job) (err error) {
	m, err := newRecoveryMessages(s)
	if err != nil {
		return err
	}
	server, err := startServer(ctx, j.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	var steady, rate float64
	for round := range 1 + recoveryRounds {
		if round > 0 {
			if steady, err = server.memory("VmRSS"); err == nil {
				err = server.forgetPeak()
			}
			if err != nil {
				return err
			}
		}
		took, reported, err := m.recover(ctx, s, server.grpc)
		if err != nil {
			return err
		}
		if round == 0 {
			r.sample["firstRecovery"] = milliseconds(took)
			continue
		}
		r.sample["recovery"] = max(r.sample["recovery"], milliseconds(took))
		rate = max(rate, float64(m.running)/reported.Seconds())
		peak, err := server.memory("VmHWM")
		if err != nil {
			return err
		}
		r.sample["recoveryMemory"] = max(r.sample["recoveryMemory"], peak/steady)
	}
	r.sample["recoveredPerSecond"] = rate
	r.sample["allocations"] = float64(m.running)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// forgetPeak makes VmHWM count from now on.
func (s *serverProcess) forgetPeak() error {
	const resetPeak = "5"
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.pid), []byte(resetPeak), 0); err != nil {
		return fmt.Errorf("the peak of the memory of the server: %w", err)
	}
	return nil
}

// recoveryMessages holds what a resource manager sends after a registration, encoded in advance.
type recoveryMessages struct {
	reports, asks []mem.BufferSlice
	running       int
}

func newRecoveryMessages(s *stream) (*recoveryMessages, error) {
	m := &recoveryMessages{running: s.spec.Asks / 2}
	nodes, err := s.spread(m.running)
	if err != nil {
		return nil, err
	}
	for first := 0; first < s.spec.Asks; first += messageBatch {
		reports, asks := &si.AllocationRequest{RmID: rmID}, &si.AllocationRequest{RmID: rmID}
		for i := first; i < min(first+messageBatch, s.spec.Asks); i++ {
			a := s.askMessage(i)
			if i < m.running {
				a.NodeID = nodes[i]
				reports.Allocations = append(reports.Allocations, a)
			} else {
				asks.Allocations = append(asks.Allocations, a)
			}
		}
		if m.reports, err = appendEncoded(m.reports, reports); err != nil {
			return nil, err
		}
		if m.asks, err = appendEncoded(m.asks, asks); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func appendEncoded(to []mem.BufferSlice, m *si.AllocationRequest) ([]mem.BufferSlice, error) {
	if len(m.Allocations) == 0 {
		return to, nil
	}
	return appendMessage(to, m)
}

func appendMessage(to []mem.BufferSlice, m *si.AllocationRequest) ([]mem.BufferSlice, error) {
	b, err := proto.Marshal(m)
	return append(to, mem.BufferSlice{mem.SliceBuffer(b)}), err
}

// spread returns the nodes on which the first asks run, by turns.
func (s *stream) spread(asks int) (nodes []string, err error) {
	free := make([]resources.Amounts, len(s.nodes))
	for i := range s.nodes {
		free[i] = s.nodes[i].Capacity
	}
	next := 0
	for i := range asks {
		tried := 0
		for !free[next].Covers(s.amounts(i)) {
			next = (next + 1) % len(free)
			if tried == len(free) {
				return nil, fmt.Errorf("ask %d of %d that are to run fits no node", i, asks)
			}
			tried++
		}
		free[next] = free[next].Sub(s.amounts(i))
		nodes = append(nodes, string(s.nodes[next].ID))
		next = (next + 1) % len(free)
	}
	return nodes, nil
}

// recover registers, and reports and asks for everything. took is the time until a pending ask is placed, reported from
// the first report until all are in the accounting.
func (m *recoveryMessages) recover(ctx context.Context, s *stream, address string) (took, reported time.Duration,
	err error) {
	rec := newRecorder()
	g := &grpcClient{address: address, recorder: rec, stream: s}
	l := &loadedScheduler{apiClient: g, recorder: rec, stream: s}
	g.streamCtx, g.cancel = context.WithCancel(context.Background())
	defer func() { err = errors.Join(err, g.close()) }()
	nodes, apps, open := s.nodeMessages(), s.appMessages(), s.openMessage()
	var first time.Time
	rec.setObserver(func(number int, allocated bool) {
		if allocated && number >= m.running && first.IsZero() {
			first = time.Now()
		}
	})
	began := time.Now()
	if err := g.connect(ctx); err != nil {
		return 0, 0, err
	}
	for _, x := range nodes {
		err = errors.Join(err, g.sendNode(x))
	}
	for _, x := range apps {
		err = errors.Join(err, g.sendApplication(x))
	}
	if err == nil {
		err = l.await(ctx, "the nodes and applications",
			func() bool { return l.nodes == len(s.nodes) && l.apps == len(s.apps) })
	}
	reporting := time.Now()
	for _, x := range m.reports {
		err = errors.Join(err, g.send(x))
	}
	if err == nil {
		err = l.awaitSentinel(ctx)
	}
	reported = time.Since(reporting)
	for _, x := range m.asks {
		err = errors.Join(err, g.send(x))
	}
	if err == nil {
		err = l.awaitSentinel(ctx)
	}
	if err == nil {
		err = l.sendNode(open)
	}
	if err == nil {
		err = l.await(ctx, "the first placement of a pending ask", func() bool { return !first.IsZero() })
	}
	return first.Sub(began), reported, err
}
