package spread_test

import (
	"fmt"
	"math"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// led are members that lead, with a load of 1, what their fields name: "m1 a b".
func led(leads map[string][]string) (all []spread.Member) {
	for name, partitions := range leads {
		m := spread.Member{Name: name, Leads: map[string]float64{}}
		for _, p := range partitions {
			m.Leads[p] = 1
		}
		all = append(all, m)
	}
	return all
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("p%02d", i))
	}
	return all
}

func TestNext_PlacesAndMoves(t *testing.T) {
	type assigned = map[string]string
	type leads = map[string][]string
	for _, tc := range []struct {
		name       string
		now        assigned
		partitions []string
		members    []spread.Member
		want       assigned // nil: no change
	}{
		{"without a member nothing changes", assigned{"a": "m1"}, []string{"a", "b"}, nil, nil},
		{"new partitions are placed evenly", nil, []string{"a", "b", "c", "d"}, led(leads{"m1": nil, "m2": nil}), assigned{"a": "m1", "b": "m2", "c": "m1", "d": "m2"}},
		{"a new partition is placed where it is led", nil, []string{"a", "b"}, led(leads{"m1": {"a", "b"}, "m2": nil}), assigned{"a": "m1", "b": "m1"}},
		{"partitions of a member that is gone are placed at once", assigned{"a": "m1", "b": "m1", "c": "m2", "d": "m3"}, []string{"a", "b", "c", "d"},
			led(leads{"m2": {"c"}, "m3": {"d"}}), assigned{"a": "m2", "b": "m3", "c": "m2", "d": "m3"}},
		{"one partition moves to a member that comes", assigned{"a": "m1", "b": "m1", "c": "m1", "d": "m1"}, []string{"a", "b", "c", "d"},
			led(leads{"m1": {"a", "b", "c", "d"}, "m2": nil}), assigned{"a": "m2", "b": "m1", "c": "m1", "d": "m1"}},
		{"none moves while a move is under way", assigned{"a": "m2", "b": "m1", "c": "m1", "d": "m1"}, []string{"a", "b", "c", "d"},
			led(leads{"m1": {"b", "c", "d"}, "m2": nil}), nil},
		{"none moves while one is led by another member", assigned{"a": "m2", "b": "m1", "c": "m1", "d": "m1"}, []string{"a", "b", "c", "d"},
			led(leads{"m1": {"a", "b", "c", "d"}, "m2": nil}), nil},
		{"a move that gains nothing is not made", assigned{"a": "m1", "b": "m1", "c": "m2"}, []string{"a", "b", "c"},
			led(leads{"m1": {"a", "b"}, "m2": {"c"}}), nil},
		{"a partition that has left the configuration drains where it is led", assigned{"a": "m1", "b": "m2"}, []string{"a"},
			led(leads{"m1": {"a"}, "m2": {"b"}}), nil},
		{"also where it is led during a move", assigned{"a": "m1", "b": "m2"}, []string{"a"},
			led(leads{"m1": {"a", "b"}, "m2": nil}), assigned{"a": "m1", "b": "m1"}},
		{"it is dropped when it is not led", assigned{"a": "m1", "b": "m2"}, []string{"a"}, led(leads{"m1": {"a"}, "m2": nil}), assigned{"a": "m1"}},
		{"it does not move, but others do", assigned{"a": "m1", "b": "m1", "c": "m1"}, []string{"b", "c"},
			led(leads{"m1": {"a", "b", "c"}, "m2": nil}), assigned{"a": "m1", "b": "m2", "c": "m1"}},
	} {
		now := spread.Assignment{Members: tc.now, Round: 7}
		next, changed := spread.Next(now, tc.partitions, tc.members, spread.Options{})
		assert.Check(t, changed == (tc.want != nil), "%s: %v", tc.name, next)
		if tc.want != nil {
			assert.Check(t, next.Round == 8, tc.name)
			assert.Check(t, fmt.Sprint(next.Members) == fmt.Sprint(tc.want), "%s: %v", tc.name, next)
		} else {
			assert.DeepEqual(t, next, now)
		}
	}
}

// Half of a weight is the number of partitions, the other half the load.
func TestNext_BalancesLoad(t *testing.T) {
	now := spread.Assignment{Members: map[string]string{"a": "m1", "b": "m1", "c": "m2", "d": "m2"}}
	members := []spread.Member{
		{Name: "m1", Leads: map[string]float64{"a": 60, "b": 40}},
		{Name: "m2", Leads: map[string]float64{"c": 0, "d": 0}},
	}
	next, changed := spread.Next(now, []string{"a", "b", "c", "d"}, members, spread.Options{})
	assert.Assert(t, changed)
	assert.DeepEqual(t, next.Members, map[string]string{"a": "m1", "b": "m2", "c": "m2", "d": "m2"}) // 0.425 and 0.575; a moved: 0.325 and 0.675
}

// Loads that add up to more than a float64 can hold count all the same.
func TestNext_LoadsAreHuge(t *testing.T) {
	now := spread.Assignment{Members: map[string]string{"a": "m1", "b": "m1", "c": "m2", "d": "m2"}}
	members := []spread.Member{
		{Name: "m1", Leads: map[string]float64{"a": math.MaxFloat64, "b": math.MaxFloat64}},
		{Name: "m2", Leads: map[string]float64{"c": 1, "d": math.Inf(1)}},
	}
	next, _ := spread.Next(now, []string{"a", "b", "c", "d"}, members, spread.Options{})
	assert.DeepEqual(t, next.Members, map[string]string{"a": "m2", "b": "m1", "c": "m2", "d": "m2"})
}

// A partition with much load is not moved back and forth, and the others of its member go to a member that has none.
func TestNext_OneHotPartition(t *testing.T) {
	now := spread.Assignment{Members: map[string]string{"a": "m1", "b": "m2", "c": "m2"}}
	members := []spread.Member{
		{Name: "m1", Leads: map[string]float64{"a": 1000}}, {Name: "m2", Leads: map[string]float64{"b": 1, "c": 1}}, {Name: "m3"},
	}
	next, changed := spread.Next(now, []string{"a", "b", "c"}, members, spread.Options{})
	assert.Assert(t, changed)
	assert.DeepEqual(t, next.Members, map[string]string{"a": "m1", "b": "m3", "c": "m2"})
}

// A member that comes to a group with many small partitions gets its share, although none of them alone gains a tenth of the mean.
func TestNext_ManySmallPartitions(t *testing.T) {
	partitions := names(100)
	g := newCluster(partitions, "m1")
	g.rest(t, spread.Options{})
	g.members["m2"] = true
	moves := g.rest(t, spread.Options{})
	assert.Assert(t, moves >= 45 && moves <= 50, "%d moves", moves)
	assert.Equal(t, len(g.now.Of("m2")), moves)
}

func TestNext_SeveralMovesAtOnce(t *testing.T) {
	g := newCluster(names(12), "m1")
	g.rest(t, spread.Options{})
	g.members["m2"], g.members["m3"] = true, true
	next, _ := spread.Next(g.now, g.partitions, g.announced(), spread.Options{MaxMoves: 3})
	assert.Equal(t, len(next.Of("m1")), 9)
}

func TestLoad_CountsWhatIsNone(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.Equal(t, spread.Load(v), 0.0)
	}
	assert.Equal(t, spread.Load(math.MaxFloat64), math.MaxFloat64)
}

// A partition that a member could not lead goes to another one, which is not balanced back, as long as there is one that has not refused it.
func TestNext_RefusedPartitions(t *testing.T) {
	refusing := func(leads map[string][]string, refused map[string][]string) []spread.Member {
		all := led(leads)
		for i := range all {
			all[i].Refuses = refused[all[i].Name]
		}
		return all
	}
	type lists = map[string][]string
	for _, tc := range []struct {
		name       string
		now        map[string]string
		partitions []string
		members    []spread.Member
		want       map[string]string // nil: no change
	}{
		{"it goes to another member", map[string]string{"a": "m1", "b": "m2", "c": "m2"}, []string{"a", "b", "c"},
			refusing(lists{"m1": nil, "m2": {"b", "c"}}, lists{"m1": {"a"}}), map[string]string{"a": "m2", "b": "m2", "c": "m2"}},
		{"it does not come back", map[string]string{"a": "m2", "b": "m2"}, []string{"a", "b"},
			refusing(lists{"m1": nil, "m2": {"a", "b"}}, lists{"m1": {"a", "b"}}), nil},
		{"others come instead", map[string]string{"a": "m2", "b": "m2"}, []string{"a", "b"},
			refusing(lists{"m1": nil, "m2": {"a", "b"}}, lists{"m1": {"a"}}), map[string]string{"a": "m2", "b": "m1"}},
		{"a new one is placed on a member that has not refused it", nil, []string{"a"},
			refusing(lists{"m1": nil, "m2": {}}, lists{"m1": {"a"}}), map[string]string{"a": "m2"}},
		{"refused by all it stays, and others move", map[string]string{"a": "m1", "b": "m2", "c": "m2", "d": "m2"}, []string{"a", "b", "c", "d"},
			refusing(lists{"m1": nil, "m2": {"b", "c", "d"}}, lists{"m1": {"a"}, "m2": {"a"}}), map[string]string{"a": "m1", "b": "m1", "c": "m2", "d": "m2"}},
		{"a member that leads it has not refused it", map[string]string{"a": "m1"}, []string{"a"},
			refusing(lists{"m1": {"a"}, "m2": nil}, lists{"m1": {"a"}}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next, changed := spread.Next(spread.Assignment{Members: tc.now}, tc.partitions, tc.members, spread.Options{})
			assert.Equal(t, changed, tc.want != nil, "%v", next)
			if changed {
				assert.DeepEqual(t, next.Members, tc.want)
			}
		})
	}
}

// A proposal is agreed to when each member has checked it, and none objects.
func TestVerdict_MissingAndObjections(t *testing.T) {
	state := spread.State{Members: []spread.Member{
		{Name: "a", Checked: 7, Objections: map[string]string{"p": "no"}}, {Name: "b", Checked: 6, Objections: map[string]string{"q": "an earlier one"}},
		{Name: "c"}, {Name: "d", Checked: 7},
	}}
	missing, objections := state.Verdict(7)
	assert.DeepEqual(t, missing, []string{"b", "c"})
	assert.DeepEqual(t, objections, map[string]string{"p": "no"})
	missing, objections = spread.State{}.Verdict(7)
	assert.Equal(t, len(missing)+len(objections), 0)
}
