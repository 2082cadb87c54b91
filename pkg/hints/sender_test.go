package hints

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// changes is a Source with the changes that a test puts in.
type changes struct {
	ctx      context.Context
	waiting  chan Change
	changed  chan struct{}
	complete bool
}

func (c *changes) WatchWaitingStates(ctx context.Context, _ string, serve func(Watch) error) error {
	c.ctx = ctx
	return serve(c)
}

func (c *changes) Context() context.Context     { return c.ctx }
func (c *changes) Changed() <-chan struct{}     { return c.changed }
func (c *changes) InitialComplete() bool        { return c.complete && len(c.waiting) == 0 }
func (c *changes) Send(send func() error) error { return send() }

func (c *changes) Next() (x Change, ok bool) {
	select {
	case x = <-c.waiting:
		return x, true
	default:
		return x, false
	}
}

// responses is the stream of a client. It keeps what is sent, with the time.
type responses struct {
	grpc.ServerStream
	ctx context.Context

	mu   sync.Mutex
	sent []response
}

type response struct {
	*canopyv1.WaitingStatesResponse
	at time.Time
}

func (s *responses) Context() context.Context { return s.ctx }

func (s *responses) Send(m *canopyv1.WaitingStatesResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, response{m, time.Now()})
	return nil
}

// take returns what was sent since the last call.
func (s *responses) take() []response {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// served is a stream of hints to a cluster that has asks, none of which can be placed.
type served struct {
	t       *testing.T
	source  *changes
	stream  *responses
	cluster *loop.Cluster
	started time.Time
}

type discardSink struct{}

func (discardSink) Deliver([]scheduler.Effect) {}

const leafYAML = `partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]`

func serve(t *testing.T, asks int, m *canopyv1.WaitingStatesRequest) *served {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(leafYAML))
	assert.Assert(t, conf != nil, problems)
	s := &served{t: t, source: &changes{waiting: make(chan Change, 10*asks+1), changed: make(chan struct{}, 1)},
		cluster: loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil), started: time.Now()}
	assert.NilError(t, s.cluster.Configure(t.Context(), conf))
	l, _ := s.cluster.Partition("default")
	_, err := l.Call(t.Context(),
		scheduler.AddApplication{App: "app", Queue: "root.a", User: security.User{Name: "ann"}})
	assert.NilError(t, err)
	for i := range asks {
		_, err := l.Call(t.Context(), scheduler.SubmitAsk{Ask: &objects.Ask{Key: keyOf(i), App: "app",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1000})}})
		assert.NilError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.stream = &responses{ctx: ctx}
	m.RmId = "rm"
	ended := make(chan error, 1)
	go func() { ended <- New(s.source, s.cluster, Options{}).WaitingStates(m, s.stream) }()
	t.Cleanup(func() {
		cancel()
		assert.Assert(t, errors.Is(<-ended, context.Canceled))
		s.cluster.End()
	})
	synctest.Wait()
	return s
}

func keyOf(i int) objects.AllocationKey { return objects.AllocationKey(fmt.Sprintf("ask-%04d", i)) }

// change puts states of the first n asks in.
func (s *served) change(n int, state objects.WaitingState) {
	for i := range n {
		s.source.waiting <- Change{Partition: "default", WaitingAsk: scheduler.WaitingAsk{
			Ask: &objects.Ask{Key: keyOf(i), App: "app"}, State: state, Blocked: scheduler.NoQueueHeadroom}}
	}
	s.source.changed <- struct{}{}
	synctest.Wait()
}

// settle lets time pass, and what happens in it.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// explained counts explanations by the seconds since the start in which they were sent.
func (s *served) explained(sent []response) map[int]int {
	bySecond := map[int]int{}
	for _, r := range sent {
		for _, x := range r.WaitingStates {
			if x.Message != "" {
				bySecond[int(r.at.Sub(s.started)/time.Second)]++
			}
		}
	}
	return bySecond
}

// States are sent at once, in responses of a bounded size; initial_complete is in the one that ends the first.
func TestSender_ResponsesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, 1100, &canopyv1.WaitingStatesRequest{})
		assert.Equal(t, len(s.stream.take()), 0)
		s.source.complete = true
		s.change(1100, objects.WaitFailed)
		var sizes []int
		for i, r := range s.stream.take() {
			sizes = append(sizes, len(r.WaitingStates))
			assert.Equal(t, r.InitialComplete, i == 2)
		}
		assert.DeepEqual(t, sizes, []int{maxStates, maxStates, 1100 - 2*maxStates})

		for range 4 {
			s.source.waiting <- Change{Partition: strings.Repeat("p", maxBytes/3),
				WaitingAsk: scheduler.WaitingAsk{Ask: &objects.Ask{}}}
		}
		s.source.changed <- struct{}{}
		assert.Equal(t, len(s.stream.take()), 2, "by bytes")
	})
}

// No more than 95 asks a second are explained; those that were not come before those that were.
func TestExplainer_ExplainsFewASecondInRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, 200, &canopyv1.WaitingStatesRequest{Explain: true, Refresh: durationpb.New(10 * time.Second)})
		s.change(200, objects.WaitFailed)
		settle(5 * time.Second)
		sent := s.stream.take()
		assert.Equal(t, len(sent[0].WaitingStates), 200)
		assert.DeepEqual(t, s.explained(sent), map[int]int{0: 95, 1: 95, 2: 10})
		last := sent[len(sent)-1].WaitingStates[9]
		assert.Equal(t, last.Reason+": "+last.Message, "noSchedulableNode: there is no node")

		// explained again, all say the same; then they do not
		settle(20 * time.Second)
		assert.Equal(t, len(s.stream.take()), 0)
		l, _ := s.cluster.Partition("default")
		_, err := l.Call(t.Context(), scheduler.AddNode{Node: "small", Schedulable: true,
			Total: resources.FromMap(map[string]resources.Quantity{"vcore": 1})})
		assert.NilError(t, err)
		settle(20 * time.Second)
		total := 0
		for _, n := range s.explained(s.stream.take()) {
			assert.Assert(t, n <= 95)
			total += n
		}
		assert.Equal(t, total, 200)

		// asks that have ended are not explained any more, and nothing is kept of them
		s.change(200, objects.WaitUnreported)
		s.stream.take()
		settle(time.Minute)
		assert.Equal(t, len(s.stream.take()), 0)
	})
}

// Without a refresh, an ask is explained once for each state.
func TestExplainer_OnceForEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, 1, &canopyv1.WaitingStatesRequest{Explain: true})
		s.change(1, objects.WaitFailed)
		settle(time.Hour)
		s.change(1, objects.WaitSkipped)
		settle(time.Hour)
		var got []string
		for _, r := range s.stream.take() {
			for _, x := range r.WaitingStates {
				got = append(got, fmt.Sprint(x.State, " ", x.Reason, " ", x.Message != ""))
			}
		}
		assert.DeepEqual(t, got, []string{"STATE_FAILED  false", "STATE_FAILED noSchedulableNode true",
			"STATE_SKIPPED noQueueHeadroom false", "STATE_SKIPPED noQueueHeadroom true"})
	})
}

// The answer of a round is not sent if the ask has changed or ended since the round began, and the ask is in the queue
// again, or not any more.
func TestExplainer_AnswersOfFormerStatesAreDropped(t *testing.T) {
	e := New(nil, nil, Options{}).newExplainer(true, time.Minute)
	q := e.queues[0]
	ask := &objects.Ask{Key: "k", App: "app"}
	jobs := func() (all []answer) {
		for a, _ := q.first(); a != nil; a, _ = q.first() {
			q.remove(a)
			all = append(all, answer{job: job{a, a.plain}, explanation: &scheduler.Explanation{Message: "why"}})
		}
		return all
	}
	note := func(state objects.WaitingState) {
		e.note(Change{Partition: "p", WaitingAsk: scheduler.WaitingAsk{Ask: ask, State: state}})
	}
	note(objects.WaitFailed)
	under := jobs()
	note(objects.WaitSkipped)
	assert.Equal(t, len(e.take(result{queue: q, answers: under})), 0)
	assert.Equal(t, q.fresh.Len()+q.again.Len(), 1)
	under = jobs()
	note(objects.WaitUnreported)
	note(objects.WaitSkipped)
	assert.Equal(t, len(e.take(result{queue: q, answers: under})), 0, "it is another ask with the key")
	under = jobs()
	assert.Equal(t, len(e.take(result{queue: q, answers: under})), 1)
	assert.Equal(t, q.again.Len(), 1)
	note(objects.WaitUnreported)
	assert.Equal(t, q.fresh.Len()+q.again.Len()+len(e.asks), 0)
}

// An ask is forecast after it was explained, and again if no forecast could be made.
func TestExplainer_ForecastsFollow(t *testing.T) {
	e := New(nil, nil, Options{Forecasts: forecast.NewForecaster("", nil)}).newExplainer(true, time.Minute)
	explanations, forecasts := e.queues[0], e.queues[1]
	e.note(Change{Partition: "p",
		WaitingAsk: scheduler.WaitingAsk{Ask: &objects.Ask{Key: "k"}, State: objects.WaitFailed}})
	a, _ := explanations.first()
	none, _ := forecasts.first()
	assert.Assert(t, none == nil)
	x := answer{job: job{a, a.plain}, explanation: &scheduler.Explanation{Message: "why"}}
	explanations.remove(a)
	assert.Equal(t, len(e.take(result{queue: explanations, answers: []answer{x}})), 1)
	for range 2 {
		assert.Assert(t, a.places[1].in == forecasts.fresh)
		forecasts.remove(a)
		assert.Equal(t, len(e.take(result{queue: forecasts, answers: []answer{x}})), 0, "other forecasts are being made")
	}
	x.expected = &canopyv1.ExpectedStart{Unknown: "tooLarge"}
	assert.Equal(t, len(e.take(result{queue: forecasts, answers: []answer{x}})), 1)
	assert.Assert(t, a.places[1].in == forecasts.again)
	e.note(Change{Partition: "p",
		WaitingAsk: scheduler.WaitingAsk{Ask: &objects.Ask{Key: "k"}, State: objects.WaitSkipped}})
	assert.Assert(t, a.places[1].in == nil && a.places[0].in == explanations.fresh)
}

// A round is followed by a pause of three times its duration.
func TestExplainer_Pauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(nil, nil, Options{}).newExplainer(true, 0)
		q := e.queues[0]
		began := time.Now()
		time.Sleep(100 * time.Millisecond)
		e.take(result{queue: q, began: began})
		assert.Equal(t, q.notBefore.Sub(began), time.Second)
		time.Sleep(900 * time.Millisecond)
		e.take(result{queue: q, began: began})
		assert.Equal(t, q.notBefore.Sub(began), 4*time.Second)
	})
}
