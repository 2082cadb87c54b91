package objects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

func labelled(labels ...string) map[string]string {
	tags := map[string]string{}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		tags[budgets.LabelTag+key] = value
	}
	return tags
}

func testBudget(name, app string, a budgets.Allowance) budgets.Budget {
	return budgets.Budget{Namespace: "default", Name: name, Allowance: a,
		Selector: budgets.NewSelector(map[string]string{"app": app}, nil)}
}

// budgetCounts is the selected, preempting and allowed counts of all budgets.
func budgetCounts(p *Partition) string {
	var parts []string
	for _, b := range p.Budgets() {
		parts = append(parts, fmt.Sprintf("%s %d-%d:%d", b.Name(), b.Selected(), b.Preempting(), b.DisruptionsAllowed()))
	}
	return strings.Join(parts, " ")
}

// budgetPartition is a partition with three bound databases, of which db1 is a canary and db3
// requires a node, a placeholder, a web server, an allocation without labels, and a pending
// database.
func budgetPartition(t *testing.T, all ...budgets.Budget) *Partition {
	t.Helper()
	p := busyPartition(t, configs.Queue{Name: "a"})
	setBudgets(t, p, all...)
	for _, ask := range []Ask{
		{Key: "db1", Details: &AskDetails{Tags: labelled("app=db", "canary=true")}},
		{Key: "db2", Details: &AskDetails{Tags: labelled("app=db")}},
		{Key: "db3", Details: &AskDetails{Tags: labelled("app=db"), RequiredNode: "n"}},
		{Key: "later", Placeholder: true, Details: &AskDetails{Tags: labelled("app=db"), TaskGroup: "g"}},
		{Key: "web", Details: &AskDetails{Tags: labelled("app=web")}},
		{Key: "plain"},
		{Key: "waits", Details: &AskDetails{Tags: labelled("app=db")}},
	} {
		ask.App, ask.Amounts = "app", cores(1)
		x, err := p.AddAsk(&ask, epoch)
		assert.NilError(t, err)
		if ask.Key != "waits" {
			assert.NilError(t, p.Place(x, p.nodes["n"], epoch))
		}
	}
	assert.NilError(t, p.Check())
	return p
}

func setBudgets(t *testing.T, p *Partition, all ...budgets.Budget) {
	t.Helper()
	conf := p.Config()
	var err error
	conf.Budgets, err = budgets.New(all...)
	assert.NilError(t, err)
	assert.NilError(t, p.Reconfigure(conf, nil))
	assert.NilError(t, p.Check())
}

func TestBudgets_CountSelectedAllocations(t *testing.T) {
	two := budgets.Allowance{Kind: budgets.MinAvailable, N: 2}
	p := budgetPartition(t, testBudget("db", "db", two), testBudget("mail", "mail", two),
		budgets.Budget{Namespace: "default", Name: "canaries", Allowance: budgets.Allowance{Kind: budgets.Allowed},
			Selector: budgets.NewSelector(nil, []budgets.Expression{{Key: "canary", Operator: budgets.Exists}})},
		budgets.Budget{Namespace: "other", Name: "db", Allowance: two,
			Selector: budgets.NewSelector(map[string]string{"app": "db"}, nil)})
	assert.Equal(t, budgetCounts(p), "default/canaries 1-0:0 default/db 3-0:1 default/mail 0-0:-2 other/db 0-0:-2")
	of := func(key AllocationKey) (names []string) {
		for _, b := range p.BudgetsOf(p.mustFind(key)) {
			names = append(names, b.Name())
		}
		return names
	}
	assert.DeepEqual(t, of("db1"), []string{"default/canaries", "default/db"})
	assert.DeepEqual(t, of("db2"), []string{"default/db"})
	assert.DeepEqual(t, of("db3"), []string{"default/db"})
	for _, key := range []AllocationKey{"later", "web", "plain", "waits"} {
		assert.Equal(t, len(of(key)), 0, key)
	}
	assert.Equal(t, len(slices.Collect(p.budgets.Each)), 3, "the other allocations are not recorded")

	p.Release("db2", epoch)
	assert.Equal(t, budgetCounts(p), "default/canaries 1-0:0 default/db 2-0:0 default/mail 0-0:-2 other/db 0-0:-2")
	p.Release("db1", epoch)
	assert.Equal(t, budgetCounts(p), "default/canaries 0-0:0 default/db 1-0:-1 default/mail 0-0:-2 other/db 0-0:-2")
	assert.NilError(t, p.Place(p.mustFind("waits"), p.nodes["n"], epoch))
	assert.Equal(t, budgetCounts(p), "default/canaries 0-0:0 default/db 2-0:0 default/mail 0-0:-2 other/db 0-0:-2")
	assert.NilError(t, p.Check())
}

func TestBudgets_CountPreemptingAllocations(t *testing.T) {
	one := budgets.Allowance{Kind: budgets.MaxUnavailable, N: 1}
	p := budgetPartition(t, testBudget("db", "db", one))
	p.Preempt(p.mustFind("waits"), p.nodes["n"], []*Allocation{p.mustFind("db1"), p.mustFind("web")}, time.Time{})
	assert.Equal(t, budgetCounts(p), "default/db 3-1:0")
	assert.NilError(t, p.Check())

	_, err := p.Resize("db1", cores(2))
	assert.NilError(t, err)
	assert.Equal(t, budgetCounts(p), "default/db 3-1:0", "a resize changes nothing")
	assert.NilError(t, p.Check())

	p.Release("db1", epoch)
	assert.Equal(t, budgetCounts(p), "default/db 2-0:1", "a released allocation is neither selected nor preempting")
	assert.NilError(t, p.Check())
}

func TestBudgets_ReloadCountsRunningAllocations(t *testing.T) {
	half := budgets.Allowance{Kind: budgets.MinAvailable, N: 50, Percent: true}
	p := budgetPartition(t)
	assert.Equal(t, budgetCounts(p), "")
	p.Preempt(p.mustFind("waits"), p.nodes["n"], []*Allocation{p.mustFind("db2")}, time.Time{})

	setBudgets(t, p, testBudget("db", "db", half))
	assert.Equal(t, budgetCounts(p), "default/db 3-1:0")
	was := p.Budgets()[0]
	setBudgets(t, p, testBudget("db", "db", half))
	assert.Assert(t, p.Budgets()[0] == was, "the same budgets are not counted anew")
	setBudgets(t, p, testBudget("db", "db", half), testBudget("web", "web", half))
	assert.Equal(t, budgetCounts(p), "default/db 3-1:0 default/web 1-0:0")
	setBudgets(t, p, testBudget("web", "web", budgets.Allowance{Kind: budgets.Allowed, N: 3}))
	assert.Equal(t, budgetCounts(p), "default/web 1-0:3")
	setBudgets(t, p)
	assert.Equal(t, budgetCounts(p), "")
	assert.Equal(t, len(p.BudgetsOf(p.mustFind("web"))), 0)
}

// BenchmarkApplyBudgets measures a reload that changes budgets while 100,000 allocations run, of
// which the budgets select none or all.
func BenchmarkApplyBudgets(b *testing.B) {
	const many = 100_000
	for _, kind := range []string{"without tags", "another namespace", "selected"} {
		b.Run(kind, func(b *testing.B) {
			p := NewPartition(configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true}})
			tags := map[string]map[string]string{
				"another namespace": {budgets.NamespaceTag: "other", "creationTime": "1", budgets.LabelTag + "app": "db"},
				"selected":          {budgets.NamespaceTag: "default", "creationTime": "1", budgets.LabelTag + "app": "db"},
			}[kind]
			for i := range many {
				key := AllocationKey(fmt.Sprint(i))
				p.allocations[key] = &Allocation{ask: &Ask{Key: key, Details: &AskDetails{Tags: tags}}, node: &Node{}}
			}
			var all []budgets.Budget
			for i := range 20 {
				all = append(all, testBudget(fmt.Sprint("b", i), fmt.Sprint("app", i), budgets.Allowance{Kind: budgets.Allowed}))
			}
			all[7] = testBudget("db", "db", budgets.Allowance{Kind: budgets.Allowed})
			var err error
			p.conf.Budgets, err = budgets.New(all...)
			assert.NilError(b, err)
			for b.Loop() {
				p.applyBudgets()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/many, "ns/allocation")
		})
	}
}

// mustFind is the ask or allocation of key.
func (p *Partition) mustFind(key AllocationKey) *Allocation {
	x, ok := p.allocations[key]
	if !ok {
		panic("no allocation " + string(key))
	}
	return x
}
