package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// leadIn is the share of the events that come first and are not measured.
const leadIn = 0.1

// steadyDoor sends asks at a rate and measures how long each takes until its allocation
// is heard of, from the time it should have been sent.
func steadyDoor(ctx context.Context, s *stream, r *result) (err error) {
	l, err := loadDoor(ctx, s, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.check(), l.close()) }()
	if err := l.sendNode(s.openMessage()); err != nil {
		return err
	}
	if err := l.taken(ctx); err != nil {
		return err
	}
	events := s.schedule(s.spec.Asks)
	first, took := int(leadIn*float64(s.spec.Asks)), r.family(askTimes)
	seen := make([]bool, s.spec.Asks)
	l.listen(func(number int, allocated bool) {
		switch {
		case !allocated || seen[number]:
			l.protest("ask %d was released, or allocated twice", number)
			return
		case number >= first:
			took.add(events.late(number))
		}
		seen[number] = true
	})
	runtime.GC()
	before := read()
	if err := events.play(ctx, func(first, next int) (int, error) { return next - first, l.sendAsks(first, next, nil) }); err != nil {
		return err
	}
	if err := l.await(ctx, "all asks to have their node", func() bool { return l.placed == s.spec.Asks }); err != nil {
		return err
	}
	var total spent
	total.add(before, s.spec.Asks)
	total.enter(r.sample, atARate)
	r.sample["allocations"] = float64(s.spec.Asks)
	return nil
}

// churnDoor fills a cluster and then ends work at a rate; for each another ask comes.
func churnDoor(ctx context.Context, s *stream, r *result) (err error) {
	p, err := s.fits()
	if err != nil {
		return err
	}
	s.enterOutcome(p, r.sample)
	delete(r.sample, "allocations") // how many there are afterwards is up to chance
	c := &churningDoor{dice: s.dice(diceReleases), next: s.spec.Asks, releases: r.family(releaseTimes)}
	for _, x := range p {
		c.running = append(c.running, numberOf(x.Key))
	}
	l, err := loadDoor(ctx, s, s.spec.Asks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.check(), l.close()) }()
	if _, err := l.fill(ctx, len(p)); err != nil {
		return err
	}
	r.sample["idleCPU"] = idleShare()
	c.loaded = l
	c.events = s.schedule(min(int(s.spec.Churn*float64(s.spec.Asks)), len(s.draws)-s.spec.Asks))
	c.first = int(leadIn * float64(len(c.events.due)))
	c.intended = make([]int, len(s.draws))
	l.listen(c.hear)
	runtime.GC()
	before := read()
	if err := c.events.play(ctx, c.send); err != nil {
		return err
	}
	want := len(c.events.due)
	if err := l.await(ctx, "the last release", func() bool { return c.ended == want }); err != nil {
		return err
	}
	if err := l.taken(ctx); err != nil {
		return err
	}
	var total spent
	total.add(before, l.allocated())
	if total.decisions == 0 {
		return errors.New("no release made room for another ask")
	}
	total.enter(r.sample, atARate)
	return nil
}

// churningDoor is a full cluster behind a door in which work ends.
type churningDoor struct {
	*loaded
	dice   *rand.Rand
	next   int // ask
	events schedule
	first  int // event that is measured

	// The rest is guarded by the lock of the ear.
	running  []int // numbers of asks that have their node
	intended []int // by number of the ask: the event that ends it
	ended    int
	freed    []release
	releases times
}

// send ends an allocation, and asks for another one, for each event. When nothing runs,
// because the scheduler is behind, an event has to wait.
func (c *churningDoor) send(first, next int) (sent int, err error) {
	ends := make([]int, 0, next-first)
	c.mu.Lock()
	for event := first; event < next && len(c.running) > 0; event++ {
		i, last := c.dice.IntN(len(c.running)), len(c.running)-1
		ends = append(ends, c.running[i])
		c.intended[c.running[i]] = event
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

// release was heard of, and no allocation since.
type release struct {
	event int
	at    time.Time
}

// atOnceHeard is how long after a release an allocation may still be for its room. Most
// follow within microseconds; a scheduler that stops for longer must not look good for it.
const atOnceHeard = 5 * time.Millisecond

// hear pairs releases with the allocation that is heard of next: in a burst it ends the
// wait of all of them. A release that nothing follows has made no room that anybody could
// use, and has no time.
func (c *churningDoor) hear(number int, allocated bool) {
	now := time.Now()
	if !allocated {
		c.ended++
		c.freed = slices.DeleteFunc(c.freed, func(r release) bool { return now.Sub(r.at) > atOnceHeard })
		c.freed = append(c.freed, release{c.intended[number], now})
		return
	}
	c.running = append(c.running, number)
	for _, r := range c.freed {
		if r.event >= c.first {
			c.releases.add(c.events.late(r.event))
		}
	}
	c.freed = c.freed[:0]
}

// allocated is how many allocations were heard of since somebody listens.
func (l *loaded) allocated() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placed
}
