package fairness

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The keys that are computed again at once when a tick begins, and how long the rest waits.
const (
	keysAtOnce = 1000
	restAfter  = 100 * time.Millisecond
)

// Engine keeps the usage over time of one partition. It is not safe for concurrent use: the Core of its partition owns
// and calls it.
type Engine struct {
	part   *objects.Partition
	now    int64 // of the current command or run, in milliseconds since 1970
	prices prices

	levels map[objects.QueuePath]*level
	order  []*level // in the order in which they began
	tickAt int64    // when the first of them begins a tick, or has keys left to compute
	runs   int      // members that are listed as running
	queues map[*objects.Queue]*member
	apps   map[*objects.Application]*member
	former map[objects.QueuePath][]Kept // of queues that do not exist yet

	// Since the last Settle: queues with other settings, members that may have begun or ended to be active, and users
	// whose applications have former keys.
	configured []*objects.Queue
	touched    []*member
	users      []*member
	changed    bool // any of these
	repriced   bool // since the last Refresh: what amounts cost has changed, or a weight, or all keys

	sum resources.Vector // scratch
}

// New returns the Engine of a partition.
func New(p *objects.Partition) *Engine {
	eng := &Engine{}
	eng.Reset(p)
	return eng
}

// Reset starts again with another partition: the RM has re-registered, and submits everything once more. The histories
// stay. Until the next decision nothing costs anything: a replay that begins here has the same.
func (eng *Engine) Reset(p *objects.Partition) {
	kept := map[objects.QueuePath][]Kept{}
	for _, k := range eng.Kept(time.UnixMilli(eng.now)) {
		kept[k.Queue] = append(kept[k.Queue], k)
	}
	*eng = Engine{part: p, now: eng.now, levels: map[objects.QueuePath]*level{}, queues: map[*objects.Queue]*member{},
		apps: map[*objects.Application]*member{}, former: kept, changed: true, tickAt: math.MaxInt64,
		repriced: true}
	objects.Attach(p, eng)
	for q := range objects.EachQueue(p) {
		if q.OverTime() {
			eng.configured = append(eng.configured, q)
		}
	}
	slices.SortFunc(eng.configured, func(a, b *objects.Queue) int { return cmp.Compare(a.Path(), b.Path()) })
}

// Wants implements objects.Consumer.
func (*Engine) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted |
		1<<objects.ApplicationMoved | 1<<objects.ApplicationRemoved | 1<<objects.QueueSettingsChanged |
		1<<objects.QuotasChanged | 1<<objects.CapacityChanged | 1<<objects.ConfigurationChanged | 1<<objects.ResourceAdded
}

// On implements objects.Consumer.
func (eng *Engine) On(c *objects.Change) {
	switch c.Kind {
	case objects.QueueSettingsChanged:
		if q := c.Queue; q.OverTime() || eng.levels[q.Path()] != nil || len(eng.former) > 0 ||
			q.Parent() != nil && q.Parent().OverTime() {
			eng.configured, eng.changed = append(eng.configured, c.Queue), true
		}
		eng.repriced = true
	case objects.ResourceAdded:
		eng.prices.index(eng.part)
	case objects.QuotasChanged, objects.CapacityChanged, objects.ConfigurationChanged:
		eng.repriced = true
	case objects.ApplicationMoved: // what it has was posted in its new leaf
		if m := eng.apps[c.App]; m != nil && m.level.queue != c.App.Queue() {
			eng.leave(c.App)
		}
	case objects.ApplicationRemoved:
		eng.leave(c.App)
	default:
		if len(eng.levels) > 0 {
			eng.onAllocation(c.Kind, c.Ask.Application())
		}
	}
}

// onAllocation updates the members that an ask or an allocation of a counts for. Their keys are right when they are
// indexed, which follows.
func (eng *Engine) onAllocation(kind objects.ChangeKind, a *objects.Application) {
	posted := kind == objects.AllocationPosted || kind == objects.AllocationUnposted
	q := a.Queue()
	if q.OverTime() {
		if m := eng.memberOf(a); m != nil {
			eng.update(m, posted)
			if posted || m.keyedAt != m.level.tick || a.OrderKey().Usage != m.keyed {
				objects.SetApplicationUsageOverTime(a, eng.keyNow(m))
			}
		}
	}
	for ; q.Parent() != nil; q = q.Parent() {
		if q.Parent().OverTime() {
			if m := eng.childOf(q); m != nil {
				eng.update(m, posted)
				if posted || m.keyedAt != m.level.tick {
					objects.SetUsageOverTime(q, eng.keyNow(m))
				}
			}
		}
	}
}

// update computes what m holds, if that may have changed, and notes what is left to Settle.
func (eng *Engine) update(m *member, posted bool) {
	if posted {
		eng.hold(m, eng.held(m))
		if len(m.apps) > 1 {
			eng.noteUser(m)
		}
	}
	if !m.touched && (!m.active || m.history.Held == 0) {
		m.touched, eng.changed = true, true
		eng.touched = append(eng.touched, m)
	}
}

// noteUser has all applications of a user get its key.
func (eng *Engine) noteUser(m *member) {
	if !m.noted {
		m.noted, eng.changed = true, true
		eng.users = append(eng.users, m)
	}
}

// reindex gives m its key, and its place.
func (eng *Engine) reindex(m *member) {
	key := eng.keyNow(m)
	if m.queue != nil && m.level.queue == m.queue.Parent() {
		objects.SetUsageOverTime(m.queue, key)
		objects.ReindexQueue(eng.part, m.queue)
	}
	for _, a := range m.apps {
		objects.SetApplicationUsageOverTime(a, key)
		objects.ReindexApplication(eng.part, a)
	}
}

// childOf returns the member of a queue whose parent is a level; nil: the level has not begun.
func (eng *Engine) childOf(q *objects.Queue) *member {
	if m := eng.queues[q]; m != nil {
		return m
	}
	l := eng.levels[q.Parent().Path()]
	if l == nil {
		return nil
	}
	m := l.member(q.Name())
	delete(eng.queues, m.queue) // that was removed
	m.queue = q
	eng.queues[q] = m
	return m
}

// memberOf returns the member that an application counts for, whose leaf is a level; nil: the level has not begun.
func (eng *Engine) memberOf(a *objects.Application) *member {
	m := eng.apps[a]
	if m != nil && m.level.queue == a.Queue() {
		return m
	}
	l := eng.levels[a.Queue().Path()]
	if l == nil {
		return nil
	}
	eng.leave(a)
	name := string(a.ID())
	if l.by == policies.FairByUser {
		name = a.User().Name
	}
	m = l.member(name)
	m.apps = append(m.apps, a)
	eng.apps[a] = m
	return m
}

// member returns the member of a name, which may be new.
func (l *level) member(name string) *member {
	m := l.members[name]
	if m == nil {
		m = &member{level: l, name: name, index: -1}
		l.members[name] = m
	}
	return m
}

// leave ends that a counts for its member. The usage over time of an application ends with it; that of a user stays.
func (eng *Engine) leave(a *objects.Application) {
	m := eng.apps[a]
	if m == nil {
		return
	}
	delete(eng.apps, a)
	m.apps = slices.DeleteFunc(m.apps, func(other *objects.Application) bool { return other == a })
	eng.hold(m, eng.held(m))
	eng.noteUser(m)
	if len(m.apps) == 0 && m.level.by == policies.FairByApplication {
		eng.remove(m)
	}
	m.active = m.active && (m.history.Held > 0 || m.pending())
}

// Advance precedes each command and each run at now. It reports whether Tick has work.
func (eng *Engine) Advance(now time.Time) (due bool) {
	eng.now = max(eng.now, now.UnixMilli(), 0)
	return len(eng.order) > 0 && eng.now >= eng.tickAt
}

// Tick begins the ticks of now, and computes the keys of what runs again, a thousand at once (FAI-3). Those of what
// does not run stay.
func (eng *Engine) Tick(now time.Time) {
	eng.Settle() // what has changed did so before now
	if !eng.Advance(now) {
		return
	}
	left := keysAtOnce
	eng.tickAt = math.MaxInt64
	for _, l := range eng.order {
		if tick := l.clock.At(eng.now); tick > l.tick {
			if tick/decay.PerHalfLife > l.tick/decay.PerHalfLife {
				eng.forget(l)
			}
			l.setTick(tick)
			l.rekey = len(l.running)
		}
		for l.rekey = min(l.rekey, len(l.running)); l.rekey > 0 && left > 0; left-- {
			l.rekey--
			m := l.running[l.rekey]
			m.history.Advance(l.clock, eng.now)
			eng.reindex(m)
			if m.history.Held == 0 {
				eng.stopped(m)
			}
			left -= len(m.apps)
		}
		eng.tickAt = min(eng.tickAt, (l.tick+1)*l.clock.Tick)
		if l.rekey > 0 {
			eng.tickAt = eng.now + restAfter.Milliseconds()
		}
	}
}

// NextDeadline returns when Tick has work; ok is false if never.
func (eng *Engine) NextDeadline() (at time.Time, ok bool) {
	return time.UnixMilli(eng.tickAt), len(eng.order) > 0 && eng.runs > 0
}

// Settle completes what changes have left. It follows each command and precedes each decision.
func (eng *Engine) Settle() {
	if !eng.changed {
		return
	}
	eng.changed = false
	for i, q := range eng.configured {
		eng.configure(q)
		eng.configured[i] = nil
	}
	eng.configured = eng.configured[:0]
	for i, m := range eng.touched {
		eng.settleActivity(m)
		eng.touched[i] = nil
	}
	eng.touched = eng.touched[:0]
	for i, m := range eng.users {
		m.noted = false
		eng.reindex(m)
		eng.users[i] = nil
	}
	eng.users = eng.users[:0]
}

// settleActivity gives a member that begins to wait, and has used nothing, the place of the others: a user or a dynamic
// queue that of the first, an application that of the last one that waits, so that a stream of new ones shuts no older
// one out (FAI-6). A configured queue is not new: that it has used nothing counts.
func (eng *Engine) settleActivity(m *member) {
	m.touched = false
	if m.level.members[m.name] != m {
		return
	}
	pending := m.pending()
	if pending && !m.active && m.unused() && (m.queue == nil || !m.queue.Managed()) {
		eng.start(m)
	}
	m.active = pending || m.history.Held > 0
}

func (eng *Engine) start(m *member) {
	l := m.level
	last := l.leaf && l.by == policies.FairByApplication
	var place decay.Number
	found := false
	for _, other := range l.members {
		if other == m || !other.active || last && !other.pending() {
			continue
		}
		if key := eng.key(other); !found || (key.Compare(place) > 0) == last {
			place, found = key, true
		}
	}
	m.history = decay.History{Past: eng.byWeight(m, place, decay.Number.Times), At: eng.now}
	eng.reindex(m)
}

// Refresh computes anew what everything costs that is held, and all keys, if the cluster or settings have changed. It
// precedes the decisions of a run, not each command: nodes come by the thousand.
func (eng *Engine) Refresh() {
	eng.Settle()
	if !eng.repriced {
		return
	}
	eng.repriced = false
	eng.prices = pricesOf(eng.part)
	for _, l := range eng.order {
		for _, name := range slices.Sorted(maps.Keys(l.members)) {
			m := l.members[name]
			eng.hold(m, eng.held(m))
			m.active = m.pending() || m.history.Held > 0
			eng.reindex(m)
		}
	}
}

// Stale reports whether Refresh has work.
func (eng *Engine) Stale() bool { return eng.changed || eng.repriced }

// configure begins, changes or ends the level of a queue whose settings may have changed.
func (eng *Engine) configure(q *objects.Queue) {
	l, f := eng.levels[q.Path()], q.Fairness()
	if known, ok := eng.part.Queue(q.Path()); !ok || known != q {
		return // it was removed: the level stays for one of the same path
	}
	if q.Parent() != nil && eng.levels[q.Parent().Path()] != nil && q.Parent().OverTime() {
		eng.reindex(eng.childOf(q)) // it may be new, or have another weight
	}
	if !q.OverTime() {
		if l != nil {
			eng.drop(l)
		}
		delete(eng.former, q.Path())
		return
	}
	halfLife := f.HalfLife.Milliseconds()
	if l != nil && (l.leaf != q.Leaf() || q.Leaf() && l.by != f.By) {
		eng.drop(l)
		l = nil
	}
	if l == nil {
		l = &level{path: q.Path(), members: map[string]*member{}}
		eng.levels[l.path] = l
		eng.order = append(eng.order, l)
	}
	was := l.clock
	l.queue, l.leaf, l.by, l.halfLife, l.clock = q, q.Leaf(), f.By, halfLife, decay.NewClock(halfLife)
	if was.Tick != 0 && was != l.clock {
		for _, m := range l.members {
			m.history.Advance(was, max(eng.now, m.history.At))
			m.history.Rescale(was, l.clock)
		}
	}
	l.setTick(l.clock.At(eng.now))
	eng.tickAt = min(eng.tickAt, (l.tick+1)*l.clock.Tick)
	eng.restoreFormer(l)
	eng.join(l)
	eng.repriced = true // Refresh computes all keys
}

// join adds what is directly below the queue of a level.
func (eng *Engine) join(l *level) {
	for _, c := range l.queue.Children() {
		eng.joins(eng.childOf(c))
	}
	if l.leaf {
		for _, a := range l.queue.Applications() {
			eng.joins(eng.memberOf(a))
		}
	}
}

func (eng *Engine) joins(m *member) {
	eng.hold(m, eng.held(m))
	m.active = m.pending() || m.history.Held > 0
	eng.reindex(m)
}

// drop ends a level, with its histories.
func (eng *Engine) drop(l *level) {
	delete(eng.levels, l.path)
	eng.runs -= len(l.running)
	eng.order = slices.DeleteFunc(eng.order, func(other *level) bool { return other == l })
	for _, m := range l.members {
		if m.queue != nil {
			delete(eng.queues, m.queue)
		}
		for _, a := range m.apps {
			delete(eng.apps, a)
		}
		m.history = decay.History{}
		eng.reindex(m)
	}
}
