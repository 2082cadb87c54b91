package twin

import (
	"fmt"
	"hash/fnv"
	"maps"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// nodePredicates is a resource manager whose answers depend on the class of an ask, on its amounts and on everything
// that it knows about a node. Asks have a class by their key; some have none, and answers of their own.
type nodePredicates struct {
	core     *scheduler.Core
	calls    int                    // of Fits and FitsEach
	commands map[objects.NodeID]int // what it has said of each node; not all of it is known to the Core
}

func (o *nodePredicates) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	o.calls++
	return o.answer(ask, node)
}

func (o *nodePredicates) answer(ask objects.AllocationKey, node objects.NodeID) bool {
	x, known := o.core.Partition().Allocation(ask)
	if !known {
		panic("the predicates of an unknown ask are asked for")
	}
	class := classOf(ask)
	if class == "" {
		class = "of " + string(ask)
	}
	return percent(class, x.Ask().Amounts, o.about(node)) < 8
}

// about is what the resource manager knows about a node.
func (o *nodePredicates) about(id objects.NodeID) string {
	p := o.core.Partition()
	n, _ := p.Node(id)
	text := fmt.Sprint(id, o.commands[id], p.Amounts(n.Total()), p.Amounts(n.Occupied()))
	for _, x := range n.Allocations() {
		text += fmt.Sprint(x.Key(), x.Ask().Amounts, x.Ask().Tags()["kubernetes.io/label/app"], p.Preempting(x),
			p.Gangs().Ending(x))
	}
	return text
}

func (o *nodePredicates) onCommand(cmd scheduler.Command) {
	switch m := cmd.(type) {
	case scheduler.SetCapacity:
		o.commands[m.Node]++
	case scheduler.SetAttributes:
		o.commands[m.Node]++
	case scheduler.SetSchedulable:
		o.commands[m.Node]++
	}
}

// batchPredicates answers batches as well: all nodes, or those up to the first that is accepted.
type batchPredicates struct {
	*nodePredicates
	toFirst bool
}

func (o batchPredicates) FitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	o.calls++
	for _, n := range nodes {
		fits = append(fits, o.answer(ask, n))
		if o.toFirst && fits[len(fits)-1] {
			break
		}
	}
	return fits
}

func percent(values ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, values...)
	return h.Sum64() % 100
}

// classOf returns the predicate class of an ask; empty: it has none.
func classOf(key objects.AllocationKey) string {
	if n := percent("class", key) % 4; n > 0 {
		return fmt.Sprint("class ", n)
	}
	return ""
}

// withClass returns a command with the predicate class of its ask.
func withClass(cmd scheduler.Command) scheduler.Command {
	tagged := func(ask *objects.Ask) *objects.Ask {
		class := classOf(ask.Key)
		if class == "" {
			return ask
		}
		tags := map[string]string{scheduler.PredicateClassTag: class}
		maps.Copy(tags, ask.Tags())
		return ask.WithTags(tags)
	}
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		m.Ask = tagged(m.Ask)
		return m
	case scheduler.SubmitAskWithClass:
		m.Ask = tagged(m.Ask)
		return m
	}
	return cmd
}

// smallNodes are commands that add nodes.
func smallNodes(n int) (steps []randomrun.Step) {
	four := resources.FromMap(map[string]resources.Quantity{"vcore": 4, "memory": 4})
	for i := range n {
		steps = append(steps,
			randomrun.Step{Command: scheduler.AddNode{Node: objects.NodeID(fmt.Sprint("small-", i)), Total: four,
				Schedulable: true}})
	}
	return steps
}

// A Core that asks in batches and remembers answers decides as one that asks about each node each time (NOD-40,
// NOD-41).
func TestRandomRuns_BatchedAndRememberedAnswersDecideTheSame(t *testing.T) {
	single, batched := 0, 0
	for seed := range uint64(testscale.Runs(150)) {
		run := randomrun.RandomRun(seed, stepsPerRun)
		run.Steps = append(smallNodes(20), run.Steps...) // most asks fit several
		opt := objects.Options{Shapes: feasibility.DefaultShapes, Lifetimes: run.Lifetimes, Evaluations: 1 << 30,
			Names: run.MaxNames, AskNames: run.MaxAskNames}
		one, several := &nodePredicates{commands: map[objects.NodeID]int{}},
			&nodePredicates{commands: map[objects.NodeID]int{}}
		one.core = scheduler.NewWith(run.Partition, &objects.Oracle{Fits: one.Fits}, opt)
		batches := batchPredicates{several, seed%2 == 0}
		several.core = scheduler.NewWith(run.Partition,
			&objects.Oracle{Fits: batches.Fits, FitsEach: batches.FitsEach}, opt)
		now := randomrun.StartTime()
		for i, step := range run.Steps {
			now = now.Add(step.After)
			one.onCommand(step.Command)
			several.onCommand(step.Command)
			want, wantMore := applyStep(step, one.core, now)
			step.Command = withClass(step.Command)
			got, more := applyStep(step, several.core, now)
			assert.Equal(t, effectsText(got), effectsText(want), "seed %d, step %d: %s", seed, i, step)
			assert.Equal(t, more, wantMore)
			assert.NilError(t, several.core.Check())
		}
		single, batched = single+one.calls, batched+several.calls
	}
	t.Logf("%d calls about single nodes, %d with batches and remembered answers", single, batched)
	assert.Assert(t, batched < single/3)
}
