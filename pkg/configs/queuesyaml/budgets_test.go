package queuesyaml

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func badBudgets() []badDocument {
	return []badDocument{
		{"budgets without a name, a selector or an allowance", `
disruptionbudgets:
-«budget-empty-selector»«budget-invalid-name»«budget-one-allowance»
- «budget-empty-selector»«budget-one-allowance»name: a
- «budget-invalid-name»{namespace: a, selector: {matchLabels: {a: b}}, minAvailable: 1}
- «budget-one-allowance»{name: b, selector: {matchLabels: {a: b}}, minAvailable: null}
`},
		{"budgets with several allowances", `
disruptionbudgets:
- {name: a, selector: {matchLabels: {a: b}}, minAvailable: 1, maxUnavailable: «budget-one-allowance»1}
- {name: b, selector: {matchLabels: {a: b}}, minAvailable: 1, maxUnavailable: «budget-one-allowance»1,
   allowed: «budget-one-allowance»1}
- {name: c, selector: {matchLabels: {a: b}}, allowed: «budget-one-allowance»1, spec: {maxUnavailable: 1}}
`},
		{"illegal allowances of a budget", `
disruptionbudgets:
- {name: a, selector: {matchLabels: {a: b}}, minAvailable: «budget-invalid-allowance»-1}
- {name: b, selector: {matchLabels: {a: b}}, minAvailable: «budget-invalid-allowance»"3"}
- {name: c, selector: {matchLabels: {a: b}}, maxUnavailable: «budget-invalid-allowance»101%}
- {name: d, selector: {matchLabels: {a: b}}, maxUnavailable: «budget-invalid-allowance»1.5%}
- {name: e, selector: {matchLabels: {a: b}}, maxUnavailable: «budget-invalid-allowance»-5%}
- {name: f, selector: {matchLabels: {a: b}}, allowed: «budget-invalid-allowance»50%}
- {name: g, selector: {matchLabels: {a: b}}, allowed: «budget-invalid-allowance»2147483648}
- {name: h, selector: {matchLabels: {a: b}}, minAvailable: «budget-invalid-allowance»[1]}
- {name: i, selector: {matchLabels: {a: b}}, minAvailable: «budget-invalid-allowance»1.5}
- {name: j, selector: {matchLabels: {a: b}}, minAvailable: «budget-invalid-allowance»"%"}
`},
		{"names and namespaces of budgets", `
disruptionbudgets:
- {name: «budget-invalid-name»A, namespace: «budget-invalid-namespace»a.b,
   selector: {matchLabels: {a: b}}, minAvailable: 1}
- metadata: {name: «budget-invalid-name»a_b, namespace: «budget-invalid-namespace»-}
  spec: {selector: {matchLabels: {a: b}}, minAvailable: 1}
- {name: «budget-invalid-name»a, namespace: «budget-invalid-namespace»a,
   metadata: {name: b, namespace: b}, selector: {matchLabels: {a: b}}, minAvailable: 1}
- {name: c, namespace: x, selector: {matchLabels: {a: b}}, minAvailable: 1}
- {name: c, selector: {matchLabels: {a: b}}, minAvailable: 1}
- {name: «budget-already-exists»c, namespace: default, selector: {matchLabels: {a: b}}, minAvailable: 1}
`},
		{"illegal selectors of a budget", `
disruptionbudgets:
- {name: a, selector: {matchLabels: {«budget-invalid-selector»a b: c, d: e, «budget-invalid-selector»f: "g h"}},
   minAvailable: 1}
- name: b
  minAvailable: 1
  selector:
    matchExpressions:
    - «budget-invalid-selector»{key: a, operator: in, values: [b]}
    - «budget-invalid-selector»{key: a, operator: In}
    - «budget-invalid-selector»{key: a, operator: Exists, values: [b]}
    - «budget-invalid-selector»{operator: Exists}
    - «budget-invalid-selector»{key: a}
    - «budget-invalid-selector»{key: a, operator: NotIn, values: [b, "-"]}
    - {key: a, operator: DoesNotExist}
    - {key: a, operator: In, values: [b, «yaml-type»~, «yaml-type»[c]]}
- {name: c, selector: «yaml-type»db, minAvailable: 1}
- {name: d, selector: {matchLabels: {a: «yaml-type»[b]}}, minAvailable: 1}
- {name: e, selector: {«yaml-unknown-key»app: db, matchLabels: {a: b}}, minAvailable: 1}
- {name: f, selector: «budget-empty-selector»{matchLabels: {}}, minAvailable: 1}
`},
		{"budgets of another kind or API version", `
disruptionbudgets:
- apiVersion: «budget-invalid-kind»policy/v1beta1
  kind: «budget-invalid-kind»PodDisruptionBudgets
  metadata: {name: a}
  spec: {selector: {matchLabels: {a: b}}, minAvailable: 1}
  status: «yaml-type»a
- «yaml-type»b
`},
		{"duplicate fields and unknown keys of a budget", `
disruptionbudgets:
- {name: a, selector: {matchLabels: {a: b}}, minAvailable: «budget-duplicate-field»1,
   spec: {minAvailable: 2, «yaml-unknown-key»allowed: 5}}
- {name: b, selector: {matchLabels: {a: b}}, «yaml-unknown-key»minavailable: 1, maxUnavailable: 1}
`},
	}
}

// A PodDisruptionBudget as kubectl shows it, and budgets in the short form.
const someBudgets = `
disruptionbudgets:
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata:
    name: zk
    namespace: team-a
    uid: 7f1b6a1e
    generation: 3
    labels: {app: zk}
  spec:
    minAvailable: 2
    selector:
      matchLabels:
        app: zookeeper
        app.kubernetes.io/instance: "1"
      matchExpressions:
      - {key: tier, operator: NotIn, values: [test, dev]}
      - {key: canary, operator: DoesNotExist}
    unhealthyPodEvictionPolicy: AlwaysAllow
  status:
    conditions: []
    currentHealthy: 3
    disruptionsAllowed: 1
- {name: web, selector: {matchLabels: {app: web}}, maxUnavailable: 25%}
- {name: outside, namespace: team-a, selector: {matchExpressions: [{key: app, operator: Exists}]}, allowed: 0}
- {metadata: {name: mixed}, spec: {maxUnavailable: 0%}, selector: {matchLabels: {on: true, level: 5, empty: }}}
`

func TestLoad_AcceptsPodDisruptionBudget(t *testing.T) {
	c := mustLoad(t,
		someBudgets+"partitions: [{queues: [{name: root, submitacl: '*'}]}, {name: gpu, queues: [{name: root, submitacl: "+
			"'*'}]}]\n")
	var got []string
	for _, b := range c.Budgets.All() {
		got = append(got, fmt.Sprintf("%s: %s, %s", b.ID(), b.Selector, b.Allowance))
	}
	assert.DeepEqual(t, got, []string{
		"default/mixed: empty=,level=5,on=true, maxUnavailable: 0%",
		"default/web: app=web, maxUnavailable: 25%",
		"team-a/outside: app, allowed: 0",
		"team-a/zk: app=zookeeper,app.kubernetes.io/instance=1,!canary,tier notin (dev,test), minAvailable: 2",
	})
	assert.Assert(t, c.HasBudgets && !mustLoad(t, onePartition).HasBudgets &&
		mustLoad(t, "disruptionbudgets:"+onePartition).HasBudgets)
	for _, p := range c.Partitions {
		assert.Assert(t, p.Budgets.Equal(c.Budgets), "partition %s has other budgets", p.Name)
	}
}
