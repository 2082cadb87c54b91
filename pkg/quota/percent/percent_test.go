package percent

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// testQueue is a queue of tests, with quotas of one resource.
type testQueue struct {
	path            string
	max, guaranteed string // a quantity or a percent; empty: it names no resource
	children        []*testQueue
}

func (q *testQueue) configured() (resources.Limit, resources.Guarantee) {
	read := func(text string) (m map[string]resources.Quantity, p map[string]resources.Percent) {
		if text == "" {
			return nil, nil
		}
		if part, err := resources.ParsePercent(text); err == nil {
			return nil, map[string]resources.Percent{"gpu": part}
		}
		n, err := resources.Parse("gpu", text)
		if err != nil {
			panic(err)
		}
		return map[string]resources.Quantity{"gpu": n}, nil
	}
	n, p := read(q.max)
	m, o := read(q.guaranteed)
	return resources.LimitFromMap(n).WithPercents(p), resources.GuaranteeFromMap(m).WithPercents(o)
}

func effective(root *testQueue, capacity resources.Quantity) map[*testQueue]Quotas[*testQueue] {
	t := Tree[*testQueue]{
		Root: root, Children: func(q *testQueue) iter.Seq[*testQueue] { return slices.Values(q.children) },
		Configured: (*testQueue).configured,
		Capacity:   func(string) resources.Quantity { return capacity },
	}
	out := map[*testQueue]Quotas[*testQueue]{}
	all, _ := t.Effective()
	for _, q := range all {
		out[q.Queue] = q
	}
	return out
}

// inForce returns the quotas of q. Missing ones are -1.
func inForce(all map[*testQueue]Quotas[*testQueue], q *testQueue) (most, least resources.Quantity) {
	e := all[q]
	most, least = -1, -1
	if n, ok := e.Max.Get("gpu"); ok {
		most = n
	}
	if n, ok := e.Guaranteed.Get("gpu"); ok {
		least = n
	}
	return most, least
}

func TestEffective(t *testing.T) {
	for _, c := range []struct {
		name     string
		queues   string // path max guaranteed; - is none
		capacity resources.Quantity
		want     string
	}{
		{"of the nodes", "a 40% 12.5%", 99, "a 39 12"},
		{"without nodes", "a 40% 10%, b 5 2", 0, "a 0 0, b 5 0"},
		{"of the nearest queue above that names it", "a 50% -, a.b - -, a.b.c 50% 10%, a.b.d 20% -", 100,
			"a 50 -1, a.b -1 -1, a.b.c 25 10, a.b.d 10 -1"},
		{"of a written one", "a 30 20, a.b 50% 50%", 1000, "a 30 20, a.b 15 10"},
		{"of an effective zero", "a 0 -, a.b 50% 50%", 10, "a 0 -1, a.b 0 5"},
		{"scaled in proportion", "a - 60%, b - 60%, c - 30", 100, "a -1 40, b -1 40, c -1 20"},
		{"written ones alone are not", "a - 60, b - 60", 100, "a -1 60, b -1 60"},
		{"below a scaled one", "a - 80%, a.b - 50%, a.c - 10, c - 80%", 100, "a -1 50, a.b -1 25, a.c -1 10, c -1 50"},
		{"through a queue that does not name it", "a 10 -, a.b - 60%, a.c - 60%, d - 30%", 100,
			"a 10 -1, a.b -1 40, a.c -1 40, d -1 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, byPath := &testQueue{}, map[string]*testQueue{}
			var order []*testQueue
			for _, line := range strings.Split(c.queues, ", ") {
				f := strings.Fields(strings.ReplaceAll(line, " -", " "+none))
				q := &testQueue{path: f[0], max: strings.Trim(f[1], none), guaranteed: strings.Trim(f[2], none)}
				above := root
				if i := strings.LastIndex(q.path, "."); i > 0 {
					above = byPath[q.path[:i]]
				}
				above.children = append(above.children, q)
				byPath[q.path] = q
				order = append(order, q)
			}
			all := effective(root, c.capacity)
			var got []string
			for _, q := range order {
				most, least := inForce(all, q)
				got = append(got, fmt.Sprint(q.path, " ", most, " ", least))
			}
			assert.Equal(t, strings.Join(got, ", "), c.want)
		})
	}
}

const none = "_"

// drawTree draws a tree with quantities and percents at random.
func drawTree(t *rapid.T, depth int) *testQueue {
	quota := rapid.OneOf(rapid.Just(""), rapid.Just(""), rapid.Map(rapid.IntRange(0, 50), func(n int) string {
		return fmt.Sprint(n)
	}), rapid.Map(rapid.IntRange(1, 10000), func(n int) string { return resources.Percent(n).String() }))
	q := &testQueue{max: quota.Draw(t, "max"), guaranteed: quota.Draw(t, "guaranteed")}
	for range rapid.IntRange(0, depth).Draw(t, "children") {
		q.children = append(q.children, drawTree(t, depth-1))
	}
	return q
}

// Laws of effective quotas: QUO-64 and QUO-66.
func TestEffective_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := drawTree(t, 4)
		root.max, root.guaranteed = "", ""
		n := resources.Quantity(rapid.Int64Range(0, 200).Draw(t, "capacity"))
		all, more := effective(root, n), effective(root, 2*n)
		var walk func(q *testQueue, most, least resources.Quantity)
		walk = func(q *testQueue, most, least resources.Quantity) {
			var sum resources.Quantity
			some := false
			var claims func(*testQueue)
			claims = func(q *testQueue) {
				for _, c := range q.children {
					if c.guaranteed == "" {
						claims(c)
						continue
					}
					_, own := inForce(all, c)
					sum += own
					some = some || strings.HasSuffix(c.guaranteed, "%")
				}
			}
			if q == root || q.guaranteed != "" {
				claims(q)
				assert.Assert(t, !some || sum <= least, "%d guaranteed of %d", sum, least)
			}
			for _, c := range q.children {
				ownMax, ownLeast := inForce(all, c)
				nextMax, nextLeast := most, least
				if c.max != "" {
					nextMax = ownMax
					assert.Assert(t, !strings.HasSuffix(c.max, "%") || ownMax <= most)
					grown, _ := inForce(more, c)
					assert.Assert(t, grown >= ownMax, "a max shrank with more nodes")
				}
				if c.guaranteed != "" {
					nextLeast = ownLeast
				}
				walk(c, nextMax, nextLeast)
			}
		}
		walk(root, n, n)
	})
}

// The sum of what is scaled down may have more than 64 bits.
func TestSum_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), 1, 8).Draw(t, "quantities")
		var s sum
		whole := new(big.Int)
		for _, n := range all {
			s.add(resources.Quantity(n))
			whole.Add(whole, big.NewInt(n))
		}
		total := resources.Quantity(rapid.Int64Range(0, math.MaxInt64).Draw(t, "total"))
		assert.Equal(t, s.exceeds(total), whole.Cmp(big.NewInt(int64(total))) > 0)
		if !s.exceeds(total) {
			return
		}
		for _, n := range all {
			want := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(total)))
			assert.Equal(t, int64(s.share(resources.Quantity(n), total)), want.Quo(want, whole).Int64())
		}
	})
}
