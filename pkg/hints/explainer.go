package hints

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Asks are explained in rounds, because an explanation looks at every node, and a forecast simulates the partition. A
// round of each kind begins once a second at most, and not before it has paused for three times its duration: so the
// rounds of a stream take half of the time at most, of which explanations and forecasts have a quarter each.
const (
	explanationsPerRound = 95 // with those of forecasts 100
	forecastsPerRound    = 5
	roundInterval        = time.Second
	roundPause           = 3 // times the duration of the round
)

// explainer decides which asks are explained when, and which explanations are worth sending. Only the sender uses it;
// rounds run on goroutines of their own and hold no lock.
type explainer struct {
	server  *Server
	refresh time.Duration // after which asks are explained again; 0: never
	asks    map[askID]*waitingAsk
	queues  []*queue // empty: nothing is explained
	results chan result
	running sync.WaitGroup // the goroutines of rounds
}

// askID names an ask: two partitions may have asks with the same key.
type askID struct {
	partition string
	key       objects.AllocationKey
}

// waitingAsk is an ask with a waiting state.
type waitingAsk struct {
	askID
	plain    *canopyv1.WaitingState // as it was sent before it was explained; not changed
	sent     uint64                 // the digest of what was sent last, without the expected start; 0: it is plain
	expected *canopyv1.ExpectedStart
	places   [2]place // by queue
}

// place is where a waitingAsk is in a queue; the zero value: nowhere, or in the round under way.
type place struct {
	in  *list.List
	at  *list.Element
	due time.Time // in queue.again: when it is explained again
}

// queue has the asks to be explained with, or without, a forecast. An ask is in one of the lists at most, and is
// forecast only after it was explained.
type queue struct {
	index     int // in explainer.queues
	most      int // asks of a round
	forecasts bool
	fresh     *list.List // of *waitingAsk: not explained so since their state has changed
	again     *list.List // of *waitingAsk: explained already, in the order in which they are due
	running   bool
	notBefore time.Time
}

// job is an ask to be explained, as it was when the round began.
type job struct {
	ask   *waitingAsk
	plain *canopyv1.WaitingState
}

// result holds the explanations of a round.
type result struct {
	queue   *queue
	began   time.Time
	answers []answer
	err     error // ends the stream
}

// answer is the explanation of an ask.
type answer struct {
	job
	explanation *scheduler.Explanation
	expected    *canopyv1.ExpectedStart // of a queue with forecasts; nil: no forecast could be made now
}

func (s *Server) newExplainer(explain bool, refresh time.Duration) *explainer {
	e := &explainer{server: s, refresh: refresh, asks: map[askID]*waitingAsk{}}
	if explain {
		e.queues = append(e.queues, &queue{most: explanationsPerRound})
		if s.opt.Forecasts != nil {
			e.queues = append(e.queues, &queue{most: forecastsPerRound, forecasts: true})
		}
	}
	for i, q := range e.queues {
		q.index, q.fresh, q.again = i, list.New(), list.New()
	}
	e.results = make(chan result, len(e.queues)) // one round of each runs at a time, so none waits for the sender
	return e
}

// note takes a state that is sent.
func (e *explainer) note(c Change) {
	if len(e.queues) == 0 {
		return
	}
	id := askID{c.Partition, c.Ask.Key}
	a := e.asks[id]
	if c.State == objects.WaitUnreported {
		if a != nil {
			delete(e.asks, id)
			for _, q := range e.queues {
				q.remove(a)
			}
		}
		return
	}
	if a == nil {
		a = &waitingAsk{askID: id}
		e.asks[id] = a
	}
	a.plain, a.sent, a.expected = stateOf(c), 0, nil
	for _, q := range e.queues[1:] {
		q.remove(a) // until it is explained
	}
	if first := e.queues[0]; a.places[0].in != first.fresh {
		first.add(a, first.fresh, time.Time{})
	}
}

func (q *queue) remove(a *waitingAsk) {
	p := &a.places[q.index]
	if p.in != nil {
		p.in.Remove(p.at)
		*p = place{}
	}
}

func (q *queue) add(a *waitingAsk, to *list.List, due time.Time) {
	q.remove(a)
	a.places[q.index] = place{to, to.PushBack(a), due}
}

// first returns the ask that is explained next, and when that may be; nil: there is none.
func (q *queue) first() (a *waitingAsk, at time.Time) {
	for _, l := range []*list.List{q.fresh, q.again} {
		if front := l.Front(); front != nil {
			a, _ = front.Value.(*waitingAsk)
			at = a.places[q.index].due
			break
		}
	}
	if at.Before(q.notBefore) {
		at = q.notBefore
	}
	return a, at
}

// startRounds starts the rounds that are due. The channel has a value when it is to be called again, if nothing else
// happens before.
func (e *explainer) startRounds(ctx context.Context) <-chan time.Time {
	now, next := time.Now(), time.Time{}
	for _, q := range e.queues {
		if q.running {
			continue
		}
		var jobs []job
		for len(jobs) < q.most {
			a, at := q.first()
			if a == nil || at.After(now) {
				break
			}
			q.remove(a)
			jobs = append(jobs, job{a, a.plain})
		}
		if len(jobs) > 0 {
			q.running = true
			e.running.Go(func() { e.results <- e.server.round(ctx, q, jobs) })
		} else if a, at := q.first(); a != nil && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(next.Sub(now))
}

// round explains asks. A panic is an error: no interceptor covers its goroutine.
func (s *Server) round(ctx context.Context, q *queue, jobs []job) (r result) {
	defer func() {
		if x := recover(); x != nil {
			r.err = fmt.Errorf("the scheduler failed to explain why asks wait: %v", x)
		}
	}()
	r.queue, r.began = q, time.Now()
	r.answers, r.err = s.explain(ctx, jobs)
	if r.err == nil && q.forecasts {
		r.err = s.forecast(ctx, r.answers)
	}
	return r
}

// take takes the result of a round, and returns what is to be sent of it.
func (e *explainer) take(r result) (send []*canopyv1.WaitingState) {
	q, now := r.queue, time.Now()
	q.running, q.notBefore = false, r.began.Add(roundInterval)
	if pause := now.Add(roundPause * now.Sub(r.began)); pause.After(q.notBefore) {
		q.notBefore = pause
	}
	for _, x := range r.answers {
		a := x.ask
		switch {
		case e.asks[a.askID] != a || a.plain != x.plain: // it has ended, or changed its state and is in the queue again
			continue
		case q.forecasts && x.expected == nil:
			q.add(a, q.fresh, time.Time{})
			continue
		case e.refresh > 0:
			q.add(a, q.again, now.Add(e.refresh))
		}
		for _, later := range e.queues[q.index+1:] {
			if a.expected == nil && a.places[later.index].in == nil {
				later.add(a, later.fresh, time.Time{})
			}
		}
		if m := a.update(x); m != nil {
			send = append(send, m)
		}
	}
	return send
}

// update returns the ask as it is sent with an answer; nil: what was sent last says the same (RMI-88).
func (a *waitingAsk) update(x answer) *canopyv1.WaitingState {
	m := explained(x.plain, x.explanation)
	sent := digest(m)
	same := sent == a.sent && (x.expected == nil || !moved(a.expected, x.expected))
	if same {
		return nil
	}
	if x.expected != nil {
		a.expected = x.expected
	}
	a.sent, m.ExpectedStart = sent, a.expected
	return m
}

// digest is a number that differs for messages that differ. It is not 0.
func digest(m *canopyv1.WaitingState) uint64 {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic("hints: " + err.Error()) // its texts are valid UTF-8
	}
	return max(1, xxhash.Sum64(text))
}
