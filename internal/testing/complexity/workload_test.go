package complexity

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// sizeVariable names the environment variable with the size: the values of its fields, in order.
const sizeVariable = "CANOPY_COMPLEXITY_SIZE"

// size is the size of a cluster, and the number of decisions. Priorities decrease from ask to ask.
type size struct {
	leaves, levels, apps, asks, nodes, shapes, priorities, fair, pack, preempt, check, backfill, decisions int
}

func (s size) String() string {
	return fmt.Sprint(s.leaves, s.levels, s.apps, s.asks, s.nodes, s.shapes, s.priorities, s.fair, s.pack, s.preempt,
		s.check, s.backfill, s.decisions)
}

// TestMain makes a process with a size the measured program, which runs no tests.
func TestMain(m *testing.M) {
	if text := os.Getenv(sizeVariable); text != "" {
		var s size
		mustScan(fmt.Sscan(text, &s.leaves, &s.levels, &s.apps, &s.asks, &s.nodes, &s.shapes, &s.priorities, &s.fair, &s.pack,
			&s.preempt, &s.check, &s.backfill, &s.decisions))
		switch {
		case s.preempt > 0:
			s.runVictimSearches()
		case s.check > 0:
			s.runChecks()
		case s.backfill > 0:
			s.runBackfills()
		default:
			s.runDecisions()
		}
	}
	os.Exit(m.Run())
}

func mustScan(_ int, err error) {
	if err != nil {
		panic(err)
	}
}

// runDecisions is the counted work: releases, new asks and decisions in a full cluster.
func (s size) runDecisions() {
	c, now := s.cluster()
	var placed []*objects.Ask
	for more := true; more; {
		var effects []scheduler.Effect
		effects, more = c.Schedule(now, 1000)
		placed = appendAsks(placed, effects)
	}
	if len(placed) == 0 || len(placed) == s.asks {
		panic("the cluster is empty, or not full")
	}
	for i := range s.decisions {
		ask := placed[i]
		now = now.Add(time.Millisecond)
		c.Step(now, scheduler.Release{App: ask.App, Key: ask.Key, Type: scheduler.TimedOut})
		again := *ask
		again.Key += "'"
		if s.priorities > 1 {
			again.Priority -= int32(s.asks) // below all others: the pending ask with the highest priority is placed
		}
		c.Step(now, scheduler.SubmitAsk{Ask: &again})
		effects, _ := c.Schedule(now, 10)
		before := len(placed)
		placed = appendAsks(placed, effects)
		if len(placed) != before+1 {
			panic("an allocation was released, and no ask was placed")
		}
	}
}

// cluster returns a Core with nodes and asks of which half are placed.
func (s size) cluster() (*scheduler.Core, time.Time) {
	conf := configs.Partition{Name: "default", Root: s.queueTree("root", s.levels)}
	conf.NodeSortPolicy = policies.DefaultNodeSortPolicy()
	if s.pack > 0 {
		conf.NodeSortPolicy.Sort = policies.NodeSortBinPacking
	}
	c, now := scheduler.New(conf, nil), time.Unix(1_000_000_000, 0)
	perNode := max(1, s.asks/2/s.nodes)
	for i := range s.nodes {
		c.Step(now, scheduler.AddNode{
			Node: objects.NodeID(fmt.Sprintf("n%06d", i)), Total: amounts(perNode*1000, perNode*1000), Schedulable: true,
		})
	}
	stem := "root" + strings.Repeat(".p", s.levels-1)
	for i := range s.apps {
		c.Step(now, scheduler.AddApplication{
			App: objects.AppID("a" + strconv.Itoa(i)), User: security.User{Name: "ann"},
			Queue: fmt.Sprintf("%s.q%06d", stem, i%s.leaves),
		})
	}
	for i := range s.asks {
		now = now.Add(time.Millisecond)
		effects := c.Step(now, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey("k" + strconv.Itoa(i)), App: objects.AppID("a" + strconv.Itoa(i%s.apps)),
			Amounts: amounts(1000, 1+i%s.shapes), Priority: int32(-i % max(1, s.priorities)),
		}})
		for _, e := range effects {
			if no, ok := e.(scheduler.AskRejected); ok {
				panic(no.String())
			}
		}
	}
	return c, now
}

// queueTree returns a queue with levels below it, one child each but for the last, the leaves.
func (s size) queueTree(name string, levels int) configs.Queue {
	q := configs.Queue{Name: name, Parent: levels > 0, SubmitACL: security.Everyone()}
	if s.fair > 0 {
		q.AppSort = policies.Fair
	}
	switch {
	case levels > 1:
		q.Children = []configs.Queue{s.queueTree("p", levels-1)}
	case levels == 1:
		for i := range s.leaves {
			q.Children = append(q.Children, s.queueTree(fmt.Sprintf("q%06d", i), 0))
		}
	}
	return q
}

func amounts(vcore, memory int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{
		"vcore": resources.Quantity(vcore), "memory": resources.Quantity(memory),
	})
}

func appendAsks(to []*objects.Ask, effects []scheduler.Effect) []*objects.Ask {
	for _, e := range effects {
		if x, ok := e.(scheduler.Allocated); ok {
			to = append(to, x.Ask)
		}
	}
	return to
}
