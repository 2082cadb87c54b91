package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// warmUpShare is the share of the first events, which are not measured.
const warmUpShare = 0.1

// steadyViaClient sends asks at a rate and measures the time of each from its due time until its
// allocation is received.
func steadyViaClient(ctx context.Context, s *stream, r *result) (err error) {
	l, err := loadViaClient(ctx, s, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.check(), l.close()) }()
	if err := l.sendNode(s.openMessage()); err != nil {
		return err
	}
	if err := l.awaitSentinel(ctx); err != nil {
		return err
	}
	schedule := s.schedule(s.spec.Asks)
	first, took := int(warmUpShare*float64(s.spec.Asks)), r.family(askTimes)
	seen := make([]bool, s.spec.Asks)
	l.setObserver(func(number int, allocated bool) {
		switch {
		case !allocated || seen[number]:
			l.fail("ask %d was released, or allocated twice", number)
			return
		case number >= first:
			took.Add(schedule.late(number))
		}
		seen[number] = true
	})
	runtime.GC()
	before := measure.Read()
	if err := schedule.play(ctx,
		func(first, next int) (int, error) { return next - first, l.sendAsks(first, next, nil) }); err != nil {
		return err
	}
	if err := l.await(ctx, "all asks to have their node", func() bool { return l.placed == s.spec.Asks }); err != nil {
		return err
	}
	var total measure.Usage
	total.Add(before, s.spec.Asks)
	enterUsage(&total, r.sample, paced)
	r.sample["allocations"] = float64(s.spec.Asks)
	return nil
}

// churnViaClient fills a cluster and then releases allocations at a rate; an ask follows each.
func churnViaClient(ctx context.Context, s *stream, r *result) (err error) {
	p, err := s.coreOutcome()
	if err != nil {
		return err
	}
	s.enterOutcome(p, r.sample)
	delete(r.sample, "allocations") // their number varies between runs
	c := &clientChurn{rng: s.rng(seedReleases), next: s.spec.Asks, releases: r.family(releaseTimes)}
	for _, x := range p {
		c.running = append(c.running, numberOf(x.Key))
	}
	l, err := loadViaClient(ctx, s, s.spec.Asks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.check(), l.close()) }()
	if _, err := l.fill(ctx, len(p)); err != nil {
		return err
	}
	r.sample["idleCPU"] = measure.IdleShare(idleWindow)
	c.loadedScheduler = l
	c.events = s.schedule(min(int(s.spec.Churn*float64(s.spec.Asks)), len(s.draws)-s.spec.Asks))
	c.first = int(warmUpShare * float64(len(c.events.due)))
	c.endEvent = make([]int, len(s.draws))
	l.setObserver(c.observe)
	runtime.GC()
	before := measure.Read()
	if err := c.events.play(ctx, c.send); err != nil {
		return err
	}
	want := len(c.events.due)
	if err := l.await(ctx, "the last release", func() bool { return c.ended == want }); err != nil {
		return err
	}
	if err := l.awaitSentinel(ctx); err != nil {
		return err
	}
	var total measure.Usage
	total.Add(before, l.allocated())
	if total.Decisions == 0 {
		return errors.New("no release was followed by an allocation")
	}
	enterUsage(&total, r.sample, paced)
	return nil
}

// clientChurn is a full cluster behind a client, in which allocations end.
type clientChurn struct {
	*loadedScheduler
	rng    *rand.Rand
	next   int // ask
	events schedule
	first  int // event that is measured

	// The fields below are guarded by the lock of the recorder.
	running         []int // numbers of the allocated asks
	endEvent        []int // by number of the ask: the event that releases it
	ended           int
	pendingReleases []pendingRelease
	releases        measure.Histogram
}

// send releases an allocation, and sends an ask, for each event. If nothing is allocated, because the
// scheduler is behind, the event waits.
func (c *clientChurn) send(first, next int) (sent int, err error) {
	ends := make([]int, 0, next-first)
	c.mu.Lock()
	for event := first; event < next && len(c.running) > 0; event++ {
		i, last := c.rng.IntN(len(c.running)), len(c.running)-1
		ends = append(ends, c.running[i])
		c.endEvent[c.running[i]] = event
		c.running[i] = c.running[last]
		c.running = c.running[:last]
	}
	c.mu.Unlock()
	if len(ends) == 0 {
		return 0, nil
	}
	from := c.next
	c.next += len(ends)
	return len(ends), c.sendAsks(from, c.next, ends)
}

// pendingRelease is a received release that no allocation has followed yet.
type pendingRelease struct {
	event int
	at    time.Time
}

// releasePairingWindow is the time after a release in which an allocation is attributed to it. Most follow
// within microseconds; the window must cover pauses of a slow scheduler.
const releasePairingWindow = 5 * time.Millisecond

// observe attributes the next received allocation to all pending releases before it. A release without
// an allocation, because no ask fits, has no time.
func (c *clientChurn) observe(number int, allocated bool) {
	now := time.Now()
	if !allocated {
		c.ended++
		c.pendingReleases = slices.DeleteFunc(c.pendingReleases,
			func(r pendingRelease) bool { return now.Sub(r.at) > releasePairingWindow })
		c.pendingReleases = append(c.pendingReleases, pendingRelease{c.endEvent[number], now})
		return
	}
	c.running = append(c.running, number)
	for _, r := range c.pendingReleases {
		if r.event >= c.first {
			c.releases.Add(c.events.late(r.event))
		}
	}
	c.pendingReleases = c.pendingReleases[:0]
}

// allocated returns the number of allocations received since the observer was set.
func (l *loadedScheduler) allocated() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placed
}
