package diff_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

func TestDiff_PriorityClasses(t *testing.T) {
	old := mustLoad(t,
		"priorityclasses: [{name: a, value: 1}, {name: b, value: 2, submitacl: ''}, {name: c, value: 3}]"+onePartition)
	new := mustLoad(t,
		"priorityclasses: [{name: c, value: 3}, {name: d, value: 4, globalDefault: true}, {name: b, value: 5}]"+onePartition)
	d := diff.Compare(old, new)
	assert.Equal(t, diffText(d), "removed class a\n"+
		"changed class b | submitacl: \"\" -> none | value: 2 -> 5\n"+
		"created class d | globalDefault: none -> true | preemptionPolicy: none -> PreemptLowerPriority | value: none -> 4\n")
	assert.Equal(t, d.Summary(), "1 priority class created, 1 priority class removed, 1 priority class changed")
	assert.Assert(t, diff.Compare(new, new).IsEmpty())
	assert.Equal(t, diff.Compare(nil, old).Summary(), "1 partition created, 1 queue created, 3 priority classes created")
}

func TestDiff_DisruptionBudgets(t *testing.T) {
	old := mustLoad(t,
		"disruptionbudgets: [{name: a, selector: {matchLabels: {a: b}}, allowed: 1}, {name: b, selector: {matchLabels: {a: "+
			"b}}, minAvailable: 1}]"+onePartition)
	new := mustLoad(t,
		"disruptionbudgets: [{name: b, namespace: default, selector: {matchLabels: {a: c}}, maxUnavailable: 50%}, "+
			"{name: a, namespace: x, selector: {matchExpressions: [{key: a, operator: Exists}]}, minAvailable: 1}]"+onePartition)
	d := diff.Compare(old, new)
	assert.Equal(t, diffText(d), "removed budget default/a\n"+
		"changed budget default/b | maxUnavailable: none -> 50% | minAvailable: 1 -> none | selector: a=b -> a=c\n"+
		"created budget x/a | minAvailable: none -> 1 | selector: none -> a\n")
	assert.Equal(t, d.Summary(), "1 disruption budget created, 1 disruption budget removed, 1 disruption budget changed")
	same := mustLoad(t,
		"disruptionbudgets: [{name: b, minAvailable: 1, spec: {selector: {matchLabels: {a: b}}}}, {name: a, selector: "+
			"{matchLabels: {a: b}}, allowed: 1}]"+onePartition)
	assert.Assert(t, diff.Compare(old, same).IsEmpty(), "the same budgets in another form")
}

func TestDiff_ClassQuotas(t *testing.T) {
	quota := func(needed, quotas string) *configs.Config {
		return mustLoad(t,
			"partitions: [{classesneedingquota: ["+needed+"], queues: [{name: root, submitacl: '*', classquotas: ["+quotas+
				"]}]}]")
	}
	old := quota("{operator: In, classes: [b, a]}",
		"{name: q, match: {operator: In, classes: [b, a]}, hard: {vcore: 2, pods: 3}}, "+
			"{name: r, match: {operator: Exists}, groups: [x], hard: {pods: 3}}, {name: s, match: {operator: Exists}, groups: "+
			"[y], hard: {pods: 3}}")
	same := quota("{classes: [a, b], operator: In}",
		"{name: q, hard: {pods: 3, vcore: 2000m}, match: {operator: In, classes: [a, b]}}, "+
			"{name: r, match: {operator: Exists}, groups: [x], hard: {pods: 3}}, {name: s, match: {operator: Exists}, groups: "+
			"[y], hard: {pods: 3}}")
	assert.Assert(t, diff.Compare(old, same).IsEmpty())
	new := quota("{operator: In, classes: [a, b]}, {operator: DoesNotExist}",
		"{name: s, match: {operator: Exists}, groups: [y], hard: {pods: 0}}, "+
			"{name: r, match: {operator: Exists}, groups: [x], users: ['*', ann], hard: {pods: 3}}, {name: t, match: "+
			"{operator: NotIn, classes: [c]}, hard: {gpu: 1}}")
	assert.Equal(t, diffText(diff.Compare(old, new)),
		`changed partition default | classesneedingquota[1]: none -> PriorityClass DoesNotExist
changed root | classquota q hard pods: 3 -> none | classquota q hard vcore: 2 -> none`+
			` | classquota q match: PriorityClass In [a b] -> none`+
			` | classquota r users: none -> *, ann | classquota s hard pods: 3 -> 0 | classquota t hard gpu: none -> 1`+
			` | classquota t match: none -> PriorityClass NotIn [c]`+
			` | order of groups in class quotas of PriorityClass Exists: x, y -> y, x
`)
	assert.Equal(t, len(diff.Compare(new, old).Partitions[0].Queues[0].Values),
		len(diff.Compare(old, new).Partitions[0].Queues[0].Values))
}
