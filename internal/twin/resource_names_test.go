package twin

import (
	"fmt"
	"hash/fnv"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// scarceNames is a story in which there are more resource names than there may be: what stories
// call gpu or disk has one of several names, by the key of the ask or the name of the node.
func scarceNames(s Story) Story {
	s.Names, s.AskNames = 5+int(s.Seed%3), 1+int(s.Seed/3%3)
	other := func(of string, a resources.Amounts) resources.Amounts {
		h := fnv.New32a()
		fmt.Fprint(h, of)
		m := a.Map()
		for _, name := range []string{"gpu", "disk"} {
			if n, ok := m[name]; ok {
				delete(m, name)
				m[fmt.Sprint(name, h.Sum32()%4)] = n
			}
		}
		return resources.FromMap(m)
	}
	ask := func(x *objects.Ask) *objects.Ask {
		y := *x
		y.Amounts = other(string(x.Key), x.Amounts)
		return &y
	}
	for i := range s.Beats {
		switch c := s.Beats[i].Command.(type) {
		case scheduler.AddNode:
			c.Total = other(string(c.Node), c.Total)
			s.Beats[i].Command = c
		case scheduler.SetCapacity:
			c.Total = other(fmt.Sprint(c.Node, i), c.Total)
			s.Beats[i].Command = c
		case scheduler.SubmitAsk:
			c.Ask = ask(c.Ask)
			s.Beats[i].Command = c
		case scheduler.SubmitClassed:
			c.Ask = ask(c.Ask)
			s.Beats[i].Command = c
		case scheduler.ReportAllocation:
			c.Ask = ask(c.Ask)
			s.Beats[i].Command = c
		case scheduler.ReportForeign:
			c.Foreign.Amounts = other(string(c.Foreign.Key), c.Foreign.Amounts)
			s.Beats[i].Command = c
		}
	}
	return s
}

// Core and twin agree on what is refused when names run out, and on everything else although
// numbers are given to one name after another.
func TestStories_ResourceNamesRunOutAndComeAgain(t *testing.T) {
	stories, refused := testscale.Runs(300), 0
	if !testscale.Full() {
		stories = 10 // each is played by cores and twin, and twice more to count
	}
	for seed := range uint64(stories) {
		s := scarceNames(Random(seed+7000, 300))
		if f := s.Play(); f != nil {
			t.Fatalf("seed %d: %v", seed+7000, f)
		}
		plain := s
		plain.Names, plain.AskNames = 0, 0
		refused += rejections(s) - rejections(plain)
	}
	assert.Assert(t, refused > stories, "names ran out %d times", refused)
}

// rejections is how many asks and nodes a core rejects in a story.
func rejections(s Story) (n int) {
	core := scheduler.NewWith(s.Partition, s.RM.oracle(), objects.Options{
		Shapes: objects.DefaultShapes, Lifetimes: s.Lifetimes, Looks: 1 << 30, Candidates: s.Candidates, Names: s.Names, AskNames: s.AskNames,
	})
	now := start()
	for _, b := range s.Beats {
		now = now.Add(b.After)
		if b.Command == nil {
			core.Schedule(now, b.Budget)
			continue
		}
		for _, e := range core.Step(now, b.Command) {
			switch e.(type) {
			case scheduler.AskRejected, scheduler.NodeRejected:
				n++
			}
		}
	}
	return n
}
