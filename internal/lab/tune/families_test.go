package tune

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func teamQueues(t *testing.T) map[string]*configs.Queue {
	t.Helper()
	c, problems := queuesyaml.Load([]byte(teams))
	assert.Assert(t, c != nil, "%v", problems)
	return queuesOf(&c.Partitions[0])
}

func TestOffsetFamilies_GoUp(t *testing.T) {
	got := offsetFamilies([]string{"root.team.prod", "root.batch"}, teamQueues(t))
	assert.Equal(t, len(got), 2)
	assert.Equal(t, len(got[0]), len(offsetLadder))
	assert.Equal(t, got[0][2].String(), "root.team.prod priority.offset -5 > 5, root.batch priority.offset none > 10")
	assert.Equal(t, got[1][5].String(), "root.team priority.offset none > 1000")
}

// What is guaranteed above is raised by as much where there is a guarantee of the resource; a guarantee of zero is one,
// too.
func TestGuaranteeFamily_RaisesThoseAbove(t *testing.T) {
	queues := teamQueues(t)
	got := guaranteeFamily([]string{"root.team.prod"}, queues, &whatif.Outcome{})
	var texts []string
	for _, c := range got {
		texts = append(texts, c.String())
	}
	assert.DeepEqual(t, texts, []string{
		"root.team.prod guaranteed gpu 3 > 4, root.team.prod guaranteed vcore 10 > 13, root.team guaranteed vcore 100 > 103",
		"root.team.prod guaranteed gpu 3 > 5, root.team.prod guaranteed vcore 10 > 15, root.team guaranteed vcore 100 > 105",
		"root.team.prod guaranteed gpu 3 > 6, root.team.prod guaranteed vcore 10 > 20, root.team guaranteed vcore 100 > 110",
		"root.team.prod guaranteed gpu 3 > 9, root.team.prod guaranteed vcore 10 > 30, root.team guaranteed vcore 100 > 120",
		"root.team.prod guaranteed gpu 3 > 15, root.team.prod guaranteed vcore 10 > 50, root.team guaranteed vcore 100 > 140",
	})
	both := guaranteeFamily([]string{"root.team", "root.team.prod"}, queues, &whatif.Outcome{})
	assert.Equal(t, both[2].String(),
		"root.team.prod guaranteed gpu 3 > 6, root.team.prod guaranteed vcore 10 > 20, root.team guaranteed vcore 100 > 200",
		"the guarantee of a parent holds those below already")
}

func TestGuaranteeFamily_WithoutGuaranteeIsOfTheUsage(t *testing.T) {
	usage := &whatif.Outcome{Queues: []whatif.Group{
		{Name: "root.batch",
			Usage: []whatif.Usage{{Resource: "memory", Mean: 11<<30 + 1}, {Resource: "vcore", Mean: 1234}, {Resource: "pods"}}},
		{Name: "root.team.dev", Usage: []whatif.Usage{{Resource: "vcore", Mean: 5_000_000}}},
	}}
	got := guaranteeFamily([]string{"root.batch"}, teamQueues(t), usage)
	assert.Equal(t, len(got), len(guaranteeLadder)+1)
	assert.Equal(t, got[0].String(), "root.batch guaranteed memory none > 12Gi, root.batch guaranteed vcore none > 1300m")
	assert.Equal(t, got[3].String(), "root.batch guaranteed memory none > 23Gi, root.batch guaranteed vcore none > 2500m")
	assert.Equal(t, len(guaranteeFamily([]string{"root.batch"}, teamQueues(t), &whatif.Outcome{})), 0)
	assert.Equal(t, raise("x", 1<<62, factor{5, 1}, true), resources.Quantity(0), "no overflow")
}

// Every change of every family can be written into the text, keeps its comments, and gives a valid configuration with
// the values.
func TestChange_KeepsCommentsAndIsValid(t *testing.T) {
	queues := teamQueues(t)
	targets := []string{"root.team.prod"}
	families := append(offsetFamilies(targets, queues), guaranteeFamily(targets, queues, &whatif.Outcome{}))
	for _, f := range families {
		for _, c := range f {
			text, err := c.apply([]byte(teams), "default")
			assert.NilError(t, err)
			assert.Assert(t, strings.Contains(string(text), "# the shop\n"), "%s", text)
			conf, problems := queuesyaml.Load(text)
			assert.Assert(t, conf != nil, "%v", problems)
			is := queuesOf(&conf.Partitions[0])
			for _, v := range c {
				if resource, ok := strings.CutPrefix(v.Name, "guaranteed "); ok {
					n, _ := is[v.Queue].Guaranteed.Get(resource)
					assert.Equal(t, resources.FormatQuantity(resource, n), v.After)
				} else {
					assert.Equal(t, is[v.Queue].Properties[v.Name], v.After)
				}
			}
			assert.Assert(t, len(diffLines(teams, string(text))) <= 5, "%v", diffLines(teams, string(text)))
		}
	}
}

func TestDiffLines(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"equal", "a\nb\n", "a\nb\n", nil},
		{"a line is changed", "a\nb\nc\n", "a\nx\nc\n", []string{"-2 b", "+2 x"}},
		{"lines are added", "a\nc\n", "a\nb\nb\nc\n", []string{"+2 b", "+3 b"}},
		{"at the end, too", "a", "a\nb", []string{"+2 b"}},
		{"a line is removed", "a\nb\nc", "a\nc", []string{"-2 b"}},
		{"changes apart", "a\nb\nc\nd", "x\nb\nc\nd\ny", []string{"-1 a", "+1 x", "+5 y"}},
		{"nothing is equal", strings.Repeat("a\n", 60) + "c", "b", append(slicesOf("-%d a", 60), "-61 c", "+1 b")},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, diffLines(c.before, c.after), c.want) })
	}
}

func slicesOf(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i+1))
	}
	return out
}
