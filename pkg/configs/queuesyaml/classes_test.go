package queuesyaml

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

func badClasses() []badDocument {
	return []badDocument{
		{"classes without a name or a value", `
priorityclasses:
- «class-invalid-name»value: 5
- «class-invalid-value»name: a
- name:«class-invalid-name»
  value:«class-invalid-value»
-«class-invalid-name»«class-invalid-value»
`},
		{"class values that are not whole numbers of 32 bits", `
priorityclasses:
- {name: a, value: «class-invalid-value»2147483648}
- {name: b, value: «class-invalid-value»-2147483649}
- {name: c, value: «class-invalid-value»1.5}
- {name: d, value: «class-invalid-value»"5"}
- {name: e, value: «class-invalid-value»[5]}
- {name: f, value: «class-invalid-value»99999999999999999999}
`},
		{"values and names of system classes", `
priorityclasses:
- {name: a, value: «class-above-user-maximum»1000000001}
- {name: «class-reserved-name»system-mine, value: 5}
- {name: system-node-critical, value: «class-reserved-name»2000000100}
- {name: system-cluster-critical, value: 2000000000, globalDefault: «class-reserved-name»true}
`},
		{"class names that are not DNS subdomains", `
priorityclasses:
- {name: «class-invalid-name»High, value: 5}
- metadata: {name: «class-invalid-name»a_b}
  value: 5
`},
		{"a class with two names, and two classes with one name", `
priorityclasses:
- name: «class-invalid-name»a
  metadata: {name: b}
  value: 5
- {name: c, value: 5}
- {name: «class-already-exists»c, value: 6}
`},
		{"two default classes", `
priorityclasses:
- {name: a, value: 5, globalDefault: true}
- {name: b, value: 6}
- {name: c, value: 7, globalDefault: «class-second-global-default»true}
`},
		{"unknown policies and illegal access lists of a class", `
priorityclasses:
- {name: a, value: 5, preemptionPolicy: «class-invalid-policy»never}
- {name: b, value: 5, submitacl: «class-invalid-acl»a b c}
- {name: c, value: 5, submitacl: «class-acl-name»"b%b"}
`},
		{"classes of another kind or API version", `
priorityclasses:
- apiVersion: «class-invalid-kind»scheduling.k8s.io/v1beta1
  kind: «class-invalid-kind»Pod
  metadata: «yaml-type»a
  name: a
  value: 5
- «yaml-type»high
`},
		{"unknown keys of a class", `
priorityclasses:
- {name: a, value: 5, «yaml-unknown-key»globaldefault: true}
`},
	}
}

// S2-3: the PriorityClass of the Kubernetes documentation, with the metadata that a cluster adds.
func TestLoad_AcceptsKubernetesPriorityClass(t *testing.T) {
	c := mustLoad(t, `
priorityclasses:
- apiVersion: scheduling.k8s.io/v1
  kind: PriorityClass
  metadata:
    name: high-priority
    uid: 7f1b6a1e
    creationTimestamp: "2026-01-02T12:00:00Z"
    annotations: {team: web}
  value: 1000000
  globalDefault: false
  preemptionPolicy: PreemptLowerPriority
  description: "This priority class should be used for XYZ service pods only."
- {name: batch, value: -10, globalDefault: true, preemptionPolicy: Never, submitacl: ann dev}
- {name: system-node-critical, value: 2000001000, submitacl: root}
`+onePartition)
	var got []string
	for _, x := range c.Classes.All() {
		acl := "nil"
		if x.SubmitACL != nil {
			acl = x.SubmitACL.String()
		}
		got = append(got, fmt.Sprintf("%s %d %t %s %q %s", x.Name, x.Value, x.GlobalDefault, x.Policy, x.Description, acl))
	}
	assert.DeepEqual(t, got, []string{
		`batch -10 true Never "" ann dev`,
		`high-priority 1000000 false PreemptLowerPriority ` +
			`"This priority class should be used for XYZ service pods only." nil`,
		`system-cluster-critical 2000000000 false PreemptLowerPriority ` +
			`"For what must run in the cluster, and may move to another node if it has to." nil`,
		`system-node-critical 2000001000 false PreemptLowerPriority "" root`,
	})
	assert.Equal(t, c.Classes.Default().Name, "batch")
	nulls := mustLoad(t,
		"priorityclasses: [{name: a, value: 1, preemptionPolicy: , submitacl: , globalDefault: null, metadata: ~}]"+
			onePartition)
	assert.Assert(t, nulls.Classes.Equal(mustLoad(t, "priorityclasses: [{name: a, value: 1}]"+onePartition).Classes),
		"a null value is the same as a missing key")
}

func TestLoad_WithoutClassesHasSystemClasses(t *testing.T) {
	for _, text := range []string{"", "priorityclasses:\n", "priorityclasses: []\n"} {
		assert.Assert(t, mustLoad(t, text+onePartition).Classes.Equal(priorities.Registry{}), text)
	}
}

// S0-19: the error about two default classes names both classes, and the line of the first.
func TestLoad_TwoDefaultClassesAreNamed_S0_19(t *testing.T) {
	_, problems := Load([]byte("priorityclasses:\n- {name: a, value: 1, globalDefault: true}\n- {name: b, value: 2, " +
		"globalDefault: true}\n"))
	assert.Equal(t, problems.Error(), `3:38: error [class-second-global-default] priority class b: `+
		`"a" (line 2) is the default already, and there can be only one`)
}

func TestLoad_ThousandPriorityClasses_S0_15(t *testing.T) {
	var b strings.Builder
	b.WriteString("priorityclasses:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "- {name: c%d, value: %d}\n", i, i)
	}
	c := mustLoad(t, b.String()+onePartition)
	got, ok := c.Classes.Get((&priorities.Class{Name: "c999"}).Key())
	assert.Assert(t, ok && got.Value == 999)
}
