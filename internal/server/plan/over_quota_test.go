package plan

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestCompute_OverQuota(t *testing.T) {
	config := func(root, a string) string {
		return "partitions: [{queues: [{name: root, submitacl: '*', classquotas: [" + root +
			"], queues: [{name: a, parent: true, classquotas: [" + a + "]}]}]}]"
	}
	const same = "{name: same, match: {operator: Exists}, hard: {pods: 1}}"
	old := config(same+", {name: high, match: {operator: In, classes: [high]}, hard: {vcore: 9, pods: 9}}", "")
	new := config(same+", {name: high, match: {operator: In, classes: [high]}, hard: {vcore: 1, pods: 9}}",
		"{name: each, match: {operator: NotIn, classes: [low]}, users: ['*'], groups: [dev], hard: {pods: 1, memory: 5}}")
	ann, bob := security.User{Name: "ann", Groups: []string{"dev"}}, security.User{Name: "bob", Groups: []string{"dev"}}
	work := State{"default": {Workloads: []Workload{
		{"root.a.dynamic", ann, "high", amounts{"vcore": 1000, "memory": 4, "pods": 7}},
		{"root.a.dynamic", bob, "high", amounts{"vcore": 1}},
		{"root.a.dynamic", bob, "", amounts{"vcore": 1, "memory": 1}},
		{"root.a.dynamic", bob, "low", amounts{"memory": 9000}},
	}}}
	p := Compute(load(t, old), load(t, new), work)
	assert.DeepEqual(t, p.OverQuota, []OverQuota{
		{"default", "root", "high", "", "", "vcore", 1001, 1000, 1},
		{"default", "root.a", "each", "bob", "", "pods", 2, 1, 1},
		{"default", "root.a", "each", "", "dev", "pods", 3, 1, 2},
	})
	var lines []string
	for _, o := range p.OverQuota {
		lines = append(lines, fmt.Sprint(o))
	}
	assert.Equal(t, strings.Join(lines, "\n"), `class quota high of root is exceeded by vcore 1m: 1001m used, and 1 allowed
class quota each of root.a is exceeded for user bob by 1 pod: 2 used, and 1 allowed
class quota each of root.a is exceeded for group dev by 2 pods: 3 used, and 1 allowed`)
	assert.Equal(t, len(Compute(load(t, new), load(t, new), work).OverQuota), 0, "an unchanged quota is not listed")
}
