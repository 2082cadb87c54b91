package queuesyaml

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func badClassQuotas() []badDocument {
	return []badDocument{
		{"class quotas without a name, a match or a limit", rootHead + `
    classquotas:
    - «classquota-hard»«classquota-name»«classquota-operator»{}
    - name: «classquota-name»High Class
      match: {operator: Exists}
      hard: «classquota-hard»{}
    - {name: a, match: {operator: Exists}, users: [ann], hard: {pods: 1}}
    - {name: «classquota-name»a, match: {operator: DoesNotExist}, hard: {pods: 1}}
    - «yaml-type»high
`},
		{"unknown and missing operators", rootHead + `
    classquotas:
    - {name: a, match: {operator: «classquota-operator»in, classes: [high]}, hard: {pods: 1}}
    - {name: b, match: «classquota-operator»{classes: [high]}, hard: {pods: 1}}
    - {name: c, match: «yaml-type»In, hard: {pods: 1}}
    - {name: d, match: {operator: In, «yaml-unknown-key»values: [high]}, hard: {pods: 1}}
    - «classquota-operator»{name: e, match: null, hard: {pods: 1}}
`},
		{"operators with the wrong classes", rootHead + `
    classquotas:
    - {name: a, match: «classquota-selector»{operator: In}, hard: {pods: 1}}
    - {name: b, match: «classquota-selector»{operator: NotIn, classes: []}, hard: {pods: 1}}
    - {name: c, match: {operator: Exists, classes: [«classquota-selector»x]}, hard: {pods: 1}}
    - {name: d, match: {operator: DoesNotExist, classes: [«classquota-selector»x, y]}, hard: {pods: 1}}
    - {name: e, match: {operator: In, classes: [x, «classquota-selector»x, «classquota-selector»Y]},
       hard: {pods: 1}}
`},
		{"malformed quantities of a class quota", rootHead + `
    classquotas:
    - {name: a, match: {operator: Exists}, hard: {pods: «quantity»-1, memory: «quantity»5m, vcore: 0}}
`},
		{"two class quotas of a match for one holder", rootHead + `
    classquotas:
    - {name: a, match: {operator: In, classes: [x, y]}, users: [ann, «classquota-holder»ann, "*"], hard: {pods: 1}}
    - {name: b, match: {operator: In, classes: [y, x]}, users: [«classquota-holder»"*"], groups: [dev],
       hard: {vcore: 1}}
    - {name: c, match: {operator: In, classes: [y]}, users: [ann, «classquota-holder»1st],
       groups: [«classquota-holder»a/b, dev], hard: {pods: 1}}
    - {name: d, match: {operator: Exists}, hard: {pods: 1}}
    - «classquota-holder»{name: e, match: {operator: Exists}, hard: {vcore: 1}}
`},
		{"class quota above that of a parent queue", rootHead + `
    classquotas:
    - {name: a, match: {operator: In, classes: [x, y]}, hard: {pods: 5}}
    - {name: b, match: {operator: Exists}, users: [ann], hard: {pods: 1}}
    queues:
    - name: p
      classquotas:
      - {name: a, match: {operator: In, classes: [x, y]}, hard: {vcore: 2}}
      - {name: b, match: {operator: Exists}, hard: {pods: 99}}
      - {name: c, match: {operator: In, classes: [x]}, hard: {pods: 99}}
      queues:
      - name: q
        classquotas:
        - {name: a, match: {operator: In, classes: [y, x]},
           hard: {vcore: «classquota-above»2001m, pods: «classquota-above»6, memory: 1Gi}}
        - {name: b, match: {operator: In, classes: [y, x]}, users: [ann], hard: {pods: 6}}
`},
		{"unknown classes, and classes without a quota", `
priorityclasses: [{name: high, value: 5}]
partitions:
- classesneedingquota:
  - {operator: In, classes: [high, «classquota-uncovered»system-node-critical,
                             «classquota-class»«classquota-uncovered»hihg]}
  - «classquota-selector»{operator: In, classes: [«classquota-class»hihg, high, system-node-critical]}
  - «classquota-selector»{operator: NotIn}
  - {operator: DoesNotExist}
  queues:
  - name: root
    submitacl: '*'
    classquotas:
    - {name: a, match: {operator: In, classes: [high, «classquota-class»low]}, hard: {pods: 1}}
`},
	}
}

func TestLoad_ReadsClassQuotas(t *testing.T) {
	c := mustLoad(t, `
partitions:
- classesneedingquota: [{operator: In, classes: [b, a]}, {operator: Exists}]
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: a
      classquotas:
      - name: high
        match: {operator: In, classes: [b, a]}
        hard: {vcore: 4, memory: 1Gi, pods: 10}
      - {name: none, match: {operator: DoesNotExist, classes: }, users: ['*'], groups: [dev, ops], hard: {pods: 0}}
`)
	p := &c.Partitions[0]
	assert.Equal(t, fmt.Sprint(p.ClassesNeedingQuota), "[PriorityClass In [a b] PriorityClass Exists]")
	quotas := p.Root.Children[0].ClassQuotas
	assert.DeepEqual(t, quotas[0].Match, limits.Selector{Operator: limits.In, Classes: []string{"a", "b"}})
	assert.Assert(t, quotas[0].CountsAllUsers() && !quotas[1].CountsAllUsers())
	assert.DeepEqual(t, quotas[0].Hard.Map(), map[string]resources.Quantity{"vcore": 4000, "memory": 1 << 30, "pods": 10})
	assert.DeepEqual(t, quotas[1].Groups, []string{"dev", "ops"})
	none, limited := quotas[1].Hard.Get("pods")
	assert.Assert(t, none == 0 && limited, "a quota of zeroes only forbids, and is not unlimited")
}

// S0-33: a class quota may name a class that does not exist yet or any more (QUO-42).
func TestClassQuota_MayNameAnUnknownClass_S0_33(t *testing.T) {
	text := "partitions: [{queues: [{name: root, submitacl: '*', classquotas: [" +
		"{name: q, match: {operator: In, classes: [hig]}, hard: {pods: 1}}]}]}]\n"
	mustLoad(t, text) // without the key priorityclasses the existing classes are unknown
	c, problems := Load([]byte("priorityclasses: [{name: high, value: 1}]\n" + text))
	assert.Assert(t, c != nil && len(c.Partitions[0].Root.ClassQuotas) == 1)
	assert.Equal(t, problems.Error(),
		`2:109: warning [classquota-class] root: there is no priority class "hig" (hint: did you mean "high"?)`)

	gone, err := c.Classes.Without((&priorities.Class{Name: "high"}).Key())
	assert.NilError(t, err)
	edited, err := PriorityClasses.Edit([]byte("priorityclasses: [{name: high, value: 1}]\n"+strings.Replace(text, "hig",
		"high", 1)), gone, Options{})
	assert.NilError(t, err)
	c, problems = Load(edited)
	assert.Assert(t, c != nil && len(c.Partitions[0].Root.ClassQuotas) == 1, "deleting the class leaves the quota: %v",
		problems)
}
