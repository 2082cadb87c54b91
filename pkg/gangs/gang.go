package gangs

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Gang is the gang of one application. It belongs to its caller, and is not safe for concurrent use.
type Gang struct {
	spec     Spec
	groups   []TaskGroup // in the order of their first placeholders
	live     int         // placeholders that have not ended, in all groups
	ending   int         // placeholders whose release is ordered and not confirmed
	deadline time.Time   // of the placeholders; zero: none
	started  bool        // the timeout has begun anew with the first placeholder that was allocated
	resumed  bool        // the application fell back to ordinary scheduling

	// of virtual placeholders:
	members []int  // by task group: pending asks, while they wait to be placed together
	refusal string // why they could not be placed together; empty: not tried since something has changed
}

// TaskGroup counts the placeholders of one task group (GAN-3).
type TaskGroup struct {
	Name         string
	MinResources resources.Amounts // what its first placeholder requested
	Count        int               // placeholders that it has had
	Replaced     int               // of these, those that a real ask has replaced
	TimedOut     int               // those that were released because nothing could replace them in time, or ever
	ended        int               // those that ended otherwise
}

// Live returns how many placeholders have not ended. One that has timed out counts as ended once its release is
// ordered.
func (t *TaskGroup) Live() int { return t.Count - t.Replaced - t.TimedOut - t.ended }

// New returns the gang of an application without placeholders. Virtual ones exist from the beginning.
func New(s Spec) *Gang {
	g := &Gang{spec: s, members: make([]int, len(s.Virtual))}
	for _, v := range s.Virtual {
		g.groups = append(g.groups, TaskGroup{Name: v.Name, MinResources: v.MinResources, Count: v.MinMember})
		g.live += v.MinMember
	}
	return g
}

// Style returns the style of g.
func (g *Gang) Style() Style { return g.spec.Style }

// Requested returns the resources that all placeholders request together; empty: not declared.
func (g *Gang) Requested() resources.Amounts { return g.spec.Requested }

// Groups returns the task groups that have had a placeholder, in the order of the first one. Read-only.
func (g *Gang) Groups() []TaskGroup { return g.groups }

// Admits reports whether a real ask may name a task group: g has the group, or g is nil or has no groups at all, as
// when the resource manager sends no placeholders (ASK-65).
func (g *Gang) Admits(taskGroup string) bool {
	return g == nil || len(g.groups) == 0 || g.find(taskGroup) != nil
}

// Live returns how many placeholders have not ended.
func (g *Gang) Live() int { return g.live }

// HoldsBack reports whether real asks of a task group wait for its placeholders: some of them have not ended (GAN-4).
func (g *Gang) HoldsBack(taskGroup string) bool {
	t := g.find(taskGroup)
	return t != nil && t.Live() > 0
}

// Complete reports whether placeholders that hold these amounts are all of the gang (GAN-13). A gang that declares no
// amounts is never complete.
func (g *Gang) Complete(held resources.Amounts) bool {
	return !g.spec.Requested.IsZero() && held.Covers(g.spec.Requested)
}

// Add counts a new placeholder, as an ask or as an allocation, and begins the timeout if it is the only live one. It
// reports whether the task group holds asks back from now on.
func (g *Gang) Add(taskGroup string, amounts resources.Amounts, now time.Time) (holds bool) {
	t := g.find(taskGroup)
	if t == nil {
		g.groups = append(g.groups, TaskGroup{Name: taskGroup, MinResources: amounts})
		t = &g.groups[len(g.groups)-1]
	}
	t.Count++
	g.live++
	if g.live == 1 || g.deadline.IsZero() {
		g.deadline, g.started = g.spec.deadline(now), false
	}
	return t.Live() == 1
}

// Replace counts that a real ask has replaced a live placeholder. It reports whether the task group no longer holds
// asks back, as TimeOut and End do.
func (g *Gang) Replace(taskGroup string) (released bool) {
	t := g.mustFind(taskGroup)
	t.Replaced++
	return g.less(t)
}

// TimeOut counts that the release of a live placeholder is ordered because nothing replaces it.
func (g *Gang) TimeOut(taskGroup string) (released bool) {
	t := g.mustFind(taskGroup)
	t.TimedOut++
	return g.less(t)
}

// End counts that a live placeholder ended otherwise: it was cancelled, released or preempted, or its node was lost.
func (g *Gang) End(taskGroup string) (released bool) {
	t := g.mustFind(taskGroup)
	t.ended++
	return g.less(t)
}

func (g *Gang) less(t *TaskGroup) (released bool) {
	if t.Live() < 0 {
		panic("gangs: more placeholders of task group " + t.Name + " have ended than there were")
	}
	g.live--
	if g.live == 0 {
		g.deadline = time.Time{}
	}
	return t.Live() == 0
}

// Start begins the timeout anew when the first placeholder is allocated (GAN-9). It reports whether the deadline
// changed.
func (g *Gang) Start(now time.Time) (changed bool) {
	if g.started || g.deadline.IsZero() {
		return false
	}
	before := g.deadline
	g.started, g.deadline = true, g.spec.deadline(now)
	return !g.deadline.Equal(before)
}

// Deadline returns the end of the placeholder timeout; the zero time: there is none.
func (g *Gang) Deadline() time.Time { return g.deadline }

// Expire ends the timeout.
func (g *Gang) Expire() { g.deadline = time.Time{} }

// Resume records that the application fell back to ordinary scheduling; it may then wait without asks for those of the
// RM.
func (g *Gang) Resume() { g.resumed = true }

// Resumed reports whether Resume was called.
func (g *Gang) Resumed() bool { return g.resumed }

// CountEnding adds n to the number of placeholders whose release is ordered and not confirmed.
func (g *Gang) CountEnding(n int) { g.ending += n }

// Ending returns the number of ending placeholders.
func (g *Gang) Ending() int { return g.ending }

func (g *Gang) find(taskGroup string) *TaskGroup {
	i := slices.IndexFunc(g.groups, func(t TaskGroup) bool { return t.Name == taskGroup })
	if i < 0 {
		return nil
	}
	return &g.groups[i]
}

func (g *Gang) mustFind(taskGroup string) *TaskGroup {
	t := g.find(taskGroup)
	if t == nil {
		panic("gangs: task group " + taskGroup + " never had a placeholder")
	}
	return t
}
