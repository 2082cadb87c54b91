package twin

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Room that goes round: all that ever moved is remembered, and counted anew each time.

// churn is what was moved, and who is paused.
type churn struct {
	wanted, rule configs.Churn
	moved        []moved
	pauses       []preemption.Pause
	closed       []string // circles, each leaf and the first again
}

// moved is room that went from one place to another. Places are leaves, and takers in a leaf.
type moved struct {
	from, to string
	at       time.Time
	spent    bool // it has made its contribution to a circle
}

func (t *Twin) endPauses() {
	c := &t.churn
	if c.rule != c.wanted {
		c.rule, c.moved = c.wanted, nil
	}
	c.pauses = slices.DeleteFunc(c.pauses, func(p preemption.Pause) bool {
		over := !c.rule.Breaker || !t.now.Before(p.Until)
		for _, w := range t.work {
			if leaf := t.app(w.ask.App).leaf; over && (leaf == p.A || leaf == p.B) {
				delete(t.tried, kindOfAsk(w.ask)) // they look again
			}
		}
		return over
	})
}

func (t *Twin) paused(a, b objects.QueuePath) bool {
	for _, p := range t.churn.pauses {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return true
		}
	}
	return false
}

// places are where room comes from, when one in a leaf takes that of one in another, and goes.
func places(giver, taker objects.QueuePath) (from, to string) {
	if giver == taker {
		return string(giver), string(taker) + " taken"
	}
	return string(giver), string(taker)
}

func (t *Twin) took(w *work, victims []*work) {
	w.gaveWay = nil
	for _, y := range victims {
		if leaf := t.app(y.ask.App).leaf; !slices.Contains(w.gaveWay, leaf) {
			w.gaveWay = append(w.gaveWay, leaf)
		}
	}
	for _, leaf := range w.gaveWay {
		t.move(places(leaf, t.app(w.ask.App).leaf))
	}
}

func (t *Twin) gaveBack(w *work) {
	for _, leaf := range w.gaveWay {
		to, from := places(leaf, t.app(w.ask.App).leaf)
		t.move(from, to)
	}
	w.gaveWay = nil
}

func (t *Twin) move(from, to string) {
	c := &t.churn
	if c.rule.Rounds == 0 {
		return
	}
	before := len(t.counted(from, to))
	c.moved = append(c.moved, moved{from: from, to: to, at: t.now})
	if len(t.counted(from, to)) == before || !t.often(from, to) {
		return
	}
	var best []string
	t.ways(from, []string{to}, func(way []string) {
		if best == nil || len(way) < len(best) || len(way) == len(best) && slices.Compare(way, best) < 0 {
			best = slices.Clone(way)
		}
	})
	if best == nil {
		return
	}
	first := slices.Index(best, slices.Min(best))
	best = slices.Concat(best[first:], best[:first])
	c.closed = append(c.closed, circle(best))
	for i, a := range best {
		b := best[(i+1)%len(best)]
		for k := range c.moved {
			m := &c.moved[k]
			m.spent = m.spent || m.from == a && m.to == b || m.from == b && m.to == a
		}
		leafA, _, _ := strings.Cut(a, " ")
		leafB, _, _ := strings.Cut(b, " ")
		low, high := objects.QueuePath(min(leafA, leafB)), objects.QueuePath(max(leafA, leafB))
		if c.rule.Breaker && !t.paused(low, high) {
			c.pauses = append(c.pauses, preemption.Pause{A: low, B: high, Since: t.now, Until: t.now.Add(c.rule.Pause)})
		}
	}
}

// circle names the leaves of a circle of places.
func circle(places []string) string {
	var leaves []string
	for _, s := range places {
		if leaf, _, _ := strings.Cut(s, " "); !slices.Contains(leaves, leaf) {
			leaves = append(leaves, leaf)
		}
	}
	return strings.Join(append(leaves, leaves[0]), " -> ")
}

// counted are the moves between two places that count: the first for as long as the rule
// looks back, and those before which something came to where they start.
func (t *Twin) counted(from, to string) (at []time.Time) {
	came := false
	for _, m := range t.churn.moved {
		came = came || m.to == from
		if m.spent || m.from != from || m.to != to {
			continue
		}
		if came || len(at) == 0 || m.at.Sub(at[len(at)-1]) >= t.churn.rule.Window {
			at = append(at, m.at)
			came = false
		}
	}
	return at
}

func (t *Twin) often(from, to string) bool {
	at, rule := t.counted(from, to), t.churn.rule
	return len(at) >= rule.Rounds && t.now.Sub(at[len(at)-rule.Rounds]) < rule.Window
}

// ways are all ways, by what often moves, from where one has come to a place.
func (t *Twin) ways(to string, way []string, found func(way []string)) {
	if way[len(way)-1] == to {
		found(way)
		return
	}
	var next []string
	for _, m := range t.churn.moved {
		if m.from == way[len(way)-1] && !slices.Contains(way, m.to) && !slices.Contains(next, m.to) && t.often(m.from, m.to) {
			next = append(next, m.to)
		}
	}
	for _, s := range next {
		t.ways(to, append(slices.Clone(way), s), found)
	}
}
