package gangs_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
)

func virtual(groups string) map[string]string {
	return map[string]string{gangs.VirtualPlaceholdersTag: "true", gangs.TaskGroupsTag: groups}
}

// The tags are read as YuniKorn's annotation is, and what is wrong with them is said.
func TestReadVirtual_Tags(t *testing.T) {
	for _, c := range []struct {
		tags map[string]string
		want string // an error; or the groups
	}{
		{nil, ""},
		{map[string]string{gangs.TaskGroupsTag: `[{"name":"g","minMember":2}]`}, ""},
		{map[string]string{gangs.VirtualPlaceholdersTag: "false"}, ""},
		{map[string]string{gangs.VirtualPlaceholdersTag: "yes"},
			`tag canopy.scheduler/virtual-placeholders: "yes" is neither true nor false`},
		{map[string]string{gangs.VirtualPlaceholdersTag: "true"},
			`tag yunikorn.apache.org/task-groups: virtual placeholders need task groups`},
		{virtual(`{"name":"g"}`),
			`tag yunikorn.apache.org/task-groups: "{\"name\":\"g\"}" is no list of task groups in JSON`},
		{virtual(`[]`), `tag yunikorn.apache.org/task-groups: there are 0 task groups, from 1 to 256 are allowed`},
		{virtual(`[` + strings.Repeat(`{},`, 256) + `{}]`),
			`tag yunikorn.apache.org/task-groups: there are 257 task groups, from 1 to 256 are allowed`},
		{virtual(`[{"minMember":2}]`), `tag yunikorn.apache.org/task-groups: a task group has no name`},
		{virtual(`[null]`), `tag yunikorn.apache.org/task-groups: a task group has no name`},
		{virtual(`[{"name":"g"}]`),
			`tag yunikorn.apache.org/task-groups: minMember of task group g is "", and not a number from 1 to 1000000`},
		{virtual(`[{"name":"g","minMember":0}]`),
			`tag yunikorn.apache.org/task-groups: minMember of task group g is "0", and not a number from 1 to 1000000`},
		{virtual(`[{"name":"g","minMember":1.5}]`),
			`tag yunikorn.apache.org/task-groups: minMember of task group g is "1.5", and not a number from 1 to 1000000`},
		{virtual(`[{"name":"g","minMember":1},{"name":"g","minMember":1}]`),
			`tag yunikorn.apache.org/task-groups: task group g is there twice`},
		{virtual(`[{"name":"g","minMember":1000000},{"name":"h","minMember":1}]`),
			`tag yunikorn.apache.org/task-groups: the task groups need more than 1000000 members`},
		{virtual(`[{"name":"g","minMember":1,"minResource":{"cpu":"a lot"}}]`),
			`tag yunikorn.apache.org/task-groups: minResource of task group g: vcore: invalid quantity: "a lot"`},
		{virtual(`[{"name":"g","minMember":1,"minResource":{"memory":{}}}]`),
			`tag yunikorn.apache.org/task-groups: minResource of task group g: memory: invalid quantity: "{}"`},
		{virtual(`[{"name":"g","minMember":2,"minResource":{"cpu":"500m","memory":"1Gi","nvidia.com/gpu":1},` +
			`"nodeSelector":{"a":"b"}},{"name":"h","minMember":3}]`),
			"g 2 {memory=1073741824 nvidia.com/gpu=1 vcore=500} h 3 {}"},
	} {
		groups, err := gangs.ReadVirtual(c.tags)
		got := ""
		for _, g := range groups {
			got = strings.TrimSpace(got + " " + g.Name + " " + string(rune('0'+g.MinMember)) + " " + g.MinResources.String())
		}
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, c.want)
		assert.Assert(t, err == nil || groups == nil)
	}
}

// Whatever a tag says, reading it does not panic, and what is read is within the bounds.
func FuzzReadVirtual(f *testing.F) {
	f.Add(`[{"name":"g","minMember":2,"minResource":{"cpu":"500m"}}]`)
	f.Add(`[{"name":"g","minMember":"1e3","minResource":{"":""}}]`)
	f.Add(`[{"name":"g","minMember":2,"topology":{"levels":["zone","rack"],"required":"zone","preferred":"rack"}}]`)
	f.Add(`[{"name":"g","minMember":2,"topology":{"required":""}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = gangs.ReadVirtual(map[string]string{gangs.TaskGroupsTag: text})
		groups, err := gangs.ReadVirtual(virtual(text))
		assert.Assert(t, (err == nil) == (len(groups) > 0))
		for _, g := range groups {
			assert.Assert(t, g.Name != "" && g.MinMember > 0 && !g.MinResources.HasNegative())
			if x := g.Topology; x.Declared() {
				assert.Assert(t, x.Required < len(x.Levels) && x.Preferred < len(x.Levels) && x.First() >= 0 &&
					x.First() >= x.Required)
			}
		}
		assert.Assert(t, !gangs.RequestedBy(groups).HasNegative())
	})
}

func TestRequestedBy_AddsUp(t *testing.T) {
	assert.Assert(t,
		gangs.RequestedBy([]gangs.VirtualGroup{{MinMember: 2, MinResources: cores(3)},
			{MinMember: 1, MinResources: cores(4)}}).Equal(cores(10)))
	assert.Assert(t,
		gangs.RequestedBy([]gangs.VirtualGroup{{MinMember: 3, MinResources: cores(math.MaxInt64 / 2)},
			{MinMember: 1, MinResources: cores(1)}}).Equal(cores(math.MaxInt64)))
	assert.Assert(t, gangs.RequestedBy(nil).IsZero())
}

// Whatever happens to members: the gang is ready exactly while each task group has enough and nothing was refused since
// the last change, and all virtual placeholders end at once.
func TestGang_VirtualPlaceholders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		need := map[string]int{"g": rapid.IntRange(1, 3).Draw(t, "g"), "h": rapid.IntRange(1, 3).Draw(t, "h")}
		g := gangs.New(gangs.Spec{Timeout: time.Minute,
			Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: need["g"], MinResources: cores(2)},
				{Name: "h", MinMember: need["h"]}}})
		members, refused := map[string]int{}, false
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"g", "h"}).Draw(t, "task group")
			switch what := rapid.SampledFrom([]string{"add", "add", "remove", "refuse", "begin"}).Draw(t, "what"); {
			case what == "add":
				assert.Assert(t, g.CountMember(name, 1))
				members[name]++
				refused = false
			case what == "remove" && members[name] > 0:
				assert.Assert(t, g.CountMember(name, -1))
				members[name]--
				refused = false
			case what == "refuse" && g.Ready():
				g.Refuse("no")
				refused = true
			case what == "begin":
				g.Begin(begin)
				assert.Equal(t, g.Deadline(), begin.Add(time.Minute))
			}
			_, incomplete := g.Incomplete()
			assert.Equal(t, incomplete, members["g"] < need["g"] || members["h"] < need["h"])
			assert.Equal(t, g.Ready(), !incomplete && !refused)
			assert.Assert(t, g.Waits() && g.HoldsBack("g") && g.HoldsBack("h") && !g.HoldsBack("i"))
			assert.Assert(t, g.Members("g") == members["g"] && g.MinMember("h") == need["h"] && g.Live() == need["g"]+need["h"])
		}
		assert.Assert(t, !g.CountMember("i", 1), "the task group was not declared")
		placed := rapid.Bool().Draw(t, "placed")
		if placed {
			g.PlaceTogether()
		} else {
			g.TimeOutVirtual()
		}
		assert.Assert(t, !g.Waits() && !g.Ready() && !g.HoldsBack("g") && g.Live() == 0 && g.Deadline().IsZero() &&
			g.MinMember("g") == 0)
		assert.Assert(t, !g.CountMember("g", 1))
		for _, group := range g.Groups() {
			want := map[bool][2]int{true: {need[group.Name], 0}, false: {0, need[group.Name]}}[placed]
			assert.Equal(t, [2]int{group.Replaced, group.TimedOut}, want)
		}
		g.Begin(begin)
		assert.Assert(t, g.Deadline().IsZero(), "nothing waits")
	})
}

func TestGang_FewerThanNoMembersPanic(t *testing.T) {
	g := gangs.New(gangs.Spec{Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: 1}}})
	assert.Assert(t, panics(func() { g.CountMember("g", -1) }))
}
