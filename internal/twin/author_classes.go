package twin

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// classify makes a third of the stories speak of priority classes. It comes when all else is
// told, and draws what the author has left, so that the others stay what they were.
func (s *Story) classify(source rand.Source) {
	a := &author{Rand: rand.New(source)}
	if !a.oneIn(3) {
		return
	}
	s.Partition = a.withQuotas(s.Partition)
	var asks []*objects.Ask
	var beats []Beat
	for _, beat := range s.Beats {
		switch c := beat.Command.(type) {
		case scheduler.UseConfig:
			if !a.oneIn(6) {
				c.Partition = a.withQuotas(c.Partition)
			}
			beat.Command = c
		case scheduler.SubmitAsk:
			asks = append(asks, c.Ask)
			beat.Command = a.classed(c.Ask)
			if a.oneIn(4) {
				beats = append(beats, Beat{Command: a.classed(a.regrown(pick(a, asks[max(0, len(asks)-10):]...)))})
			}
		case scheduler.SubmitClassed:
			c.Class = a.class()
			beat.Command = c
		case scheduler.ReportAllocation:
			c.Class = a.class()
			beat.Command = c
		}
		beats = append(beats, beat)
	}
	s.Beats = beats
}

// classed is an ask as one of a class, or of none.
func (a *author) classed(ask *objects.Ask) scheduler.Command {
	if a.oneIn(3) {
		return scheduler.SubmitAsk{Ask: ask}
	}
	m := scheduler.SubmitClassed{Ask: ask, Class: a.class()}
	if ask.Priority%2 == 0 { // the others are of the default class
		m.Named = m.Class
	}
	return m
}

func (a *author) class() string { return pick(a, "", "high", "high", "low", "odd") }

// regrown is an ask, perhaps of one that is known, with other amounts.
func (a *author) regrown(ask *objects.Ask) *objects.Ask {
	other := *ask
	other.Amounts = a.amounts()
	return &other
}

// withQuotas is a configuration with other class quotas. The old one stays as it was.
func (a *author) withQuotas(p configs.Partition) configs.Partition {
	p.NeedQuota = nil
	for a.oneIn(3) && len(p.NeedQuota) < 2 {
		p.NeedQuota = append(p.NeedQuota, a.classSelector())
	}
	p.Root = a.queueWithQuotas(p.Root)
	return p
}

func (a *author) queueWithQuotas(q configs.Queue) configs.Queue {
	q.ClassQuotas = nil
	var taken []string
	for _, name := range []string{"first", "second", "third"} {
		if !a.oneIn(4) {
			continue
		}
		x := limits.ClassQuota{Name: name, Match: a.classSelector()}
		switch a.IntN(4) {
		case 0:
			x.Users = []string{pick(a, pick(a, users...).Name, limits.Wildcard)}
		case 1:
			x.Groups = []string{pick(a, "dev", "ops", limits.Wildcard)}
		}
		hard := a.quota(0, 8, 16, 16, 30, 30)
		if a.oneIn(2) {
			hard[limits.Pods] = resources.Quantity(pick(a, 0, 3, 8, 8))
		}
		x.Hard = resources.LimitFromMap(hard)
		if who := fmt.Sprint(x.Match, x.Users, x.Groups); !slices.Contains(taken, who) {
			taken = append(taken, who)
			q.ClassQuotas = append(q.ClassQuotas, x)
		}
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		q.Children[i] = a.queueWithQuotas(q.Children[i])
	}
	return q
}

func (a *author) classSelector() limits.Selector {
	s := limits.Selector{Operator: pick(a, limits.In, limits.In, limits.NotIn, limits.Exists, limits.DoesNotExist)}
	if s.Operator.NeedsClasses() {
		s.Classes = pick(a, []string{"high"}, []string{"high", "low"}, []string{"none"})
	}
	return s
}
