package queuesyaml

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// A badDocument has problems. Marks in its text name every problem that Load must report, see parseMarks.
type badDocument struct {
	name string
	text string
}

func allBadDocuments() []badDocument {
	return slices.Concat(badYAML(), badNames(), badLimits(), badSizes(), badPlacement(), badPartitions(), badClasses(),
		badBudgets(), badClassQuotas(),
		badProperties(), badResources(), badConfigMaps(), beyondBounds())
}

func TestLoad_ReportsEveryProblemAtItsPosition(t *testing.T) {
	for _, c := range allBadDocuments() {
		t.Run(c.name, func(t *testing.T) {
			text, want := parseMarks(c.text)
			config, got := Load([]byte(text))
			assert.DeepEqual(t, positions(got), want)
			assert.Equal(t, config == nil, got.HasErrors(), got.Error())
			_, again := Load([]byte(text))
			assert.DeepEqual(t, again, got)
		})
	}
}

func TestValidationRules_EachIsTested(t *testing.T) {
	// Rules about the size of the text have tests of their own, next to badSizes.
	broken := map[string]bool{"bound-bytes": true, "bound-values": true, "bound-queues": true, "bound-problems": true}
	for _, id := range []string{"resource-absent", "guarantee-beyond-nodes", "quota-percent"} {
		broken[id] = true // they need Options.NodeCapacity
	}

	for _, c := range allBadDocuments() {
		_, want := parseMarks(c.text)
		for _, w := range want {
			_, rule, _ := strings.Cut(w, " ")
			broken[rule] = true
		}
	}
	for _, x := range validation.Rules() {
		assert.Assert(t, broken[x.ID], "no document breaks %s", x.ID)
		delete(broken, x.ID)
	}
	assert.Equal(t, len(broken), 0, "rules that are not listed: %v", broken)
}

func badYAML() []badDocument {
	return []badDocument{
		{"a text that is not YAML", "partitions:\n«yaml-syntax»- queues: [}\n"},
		{"an alias without an anchor", "partitions: «yaml-alias»*all\n"},
		{"a tab in the indentation", "partitions:\n«yaml-syntax»\t- queues: []\n"},
		{"control characters", "partitions: [«yaml-syntax»\x01]\n"},
		{"a document that is a list", "«yaml-type»- partitions: []\n"},
		{"lists instead of mappings and mappings instead of lists", `
partitions:
- queues: «yaml-type»{}
  preemption: «yaml-type»[]
- «yaml-type»gpu
- name: gpu
  queues:
  - «yaml-type»root
  - name: a
    submitacl: '*'
    limits:
    - «yaml-type»alice
  placementrules: [«yaml-type»user]
`},
		{"malformed durations", `
partitions:
- name: a
  queues: [{name: root, submitacl: '*'}]
  preemption: {nominationtimeout: «yaml-type»soon}
- name: b
  queues: [{name: root, submitacl: '*'}]
  preemption: {nominationtimeout: «yaml-type»-1s}
- name: c
  queues: [{name: root, submitacl: '*'}]
  preemption: {nominationtimeout: «yaml-type»[5m]}
`},
		{"illegal churn limits, breaker and priority", `
partitions:
- name: a
  queues: [{name: root, submitacl: '*'}]
  preemption: {churncycles: «yaml-type»1001, churnwindow: «yaml-type»0s}
- name: b
  queues: [{name: root, submitacl: '*'}]
  preemption: {churnbreakerenabled: «yaml-type»maybe, churncycles: «yaml-type»-1, churncooldown: «yaml-type»0s}
- name: d
  queues: [{name: root, submitacl: '*'}]
  priority: «yaml-type»off
- name: c
  queues: [{name: root, submitacl: '*'}]
  preemption: {churncycles: 0, churnwindow: «yaml-type»often}
`},
		{"illegal settings of reservations", `
partitions:
- name: a
  queues: [{name: root, submitacl: '*'}]
  reservation: {enabled: «yaml-type»maybe, delay: «yaml-type»-1s, timeout: «yaml-type»0s,
    nodepercent: «yaml-type»0}
- name: b
  queues: [{name: root, submitacl: '*'}]
  reservation: {delay: «yaml-type»soon, timeout: «yaml-type»-60m,
    nodepercent: «yaml-type»101, «yaml-unknown-key»node: 5}
- name: c
  queues: [{name: root, submitacl: '*'}]
  reservation: {delay: 0s, nodepercent: «yaml-type»-5}
  noderefusal: {backoff: «yaml-type»-1s, maxbackoff: 25s, asks: «yaml-type»0, «yaml-unknown-key»node: 5}
`},
		{"values of the wrong kind", `
partitions:
- name: default
  preemption:
    enabled: «yaml-type»perhaps
    nominationtimeout: «yaml-type»5
  queues:
  - name: root
    parent: «yaml-type»[]
    maxapplications: «yaml-type»-1
    submitacl: «yaml-type»['*']
    queues:
    - name: a
      maxapplications: «yaml-type»1.5
      properties:
        priority.offset: «yaml-type»{}
      resources:
        max: {memory: «yaml-type»[1]}
    - name: b
      submitacl: '*'
      maxapplications: «yaml-type»"1"
      adminacl: «yaml-type»!!binary YQ==
`},
		{"a node sort policy that is a scalar", rootHead + `
  nodesortpolicy: «yaml-type»fair
`},
		{"keys in camel case", `
partitions:
- queues:
  - name: root
    «yaml-unknown-key»submitACL: '*'
    «yaml-unknown-key»maxApplications: 5
    submitacl: '*'
  «yaml-unknown-key»statedumpfilepath: /var
«yaml-unknown-key»partition: []
`},
		{"a recovery queue", rootHead + `
    queues:
    - name: «recovery-queue»'@recovery@'
      resources: {max: {vcore: 1}}
    - {name: a, queues: [{name: '@recovery@'}]}
`},
		{"duplicate keys", `
partitions:
- queues:
  - name: root
    submitacl: '*'
    «yaml-duplicate-key»submitacl: ''
    queues:
    - name: a
      resources:
        max:
          memory: 1Gi
          «yaml-duplicate-key»memory: 2Gi
`},
		{"an anchor, its alias and a merge", `
partitions:
- queues:
  - name: root
    submitacl: '*'
    queues:
    - name: a
      resources: «yaml-alias»&r
        max: {memory: 1Gi}
    - name: b
      resources: «yaml-alias»*r
    - name: c
      «yaml-alias»<<: *r
`},
		{"a second document",
			"partitions: [{queues: [{name: root, submitacl: '*'}]}]\n---\n«yaml-documents»partitions: []\n"},
		{"a second document that is not YAML",
			"«yaml-documents»partitions: [{queues: [{name: root, submitacl: '*'}]}]\n---\n}\n"},
		{"an empty text", "«no-partition»"},
		{"only a comment", "«no-partition»# partitions:\n"},
		{"only null", "«no-partition»~"},
		{"no partition", "«no-partition»partitions: []\n"},
		{"no partition, and classes", "«no-partition»priorityclasses: [{name: a, value: 1}]\npartitions:\n"},
	}
}

func badNames() []badDocument {
	return []badDocument{
		{"two partitions of one name in another case", `
partitions:
- name: GPU
  queues: [{name: root, submitacl: '*'}]
- name: «V1»gpu
  queues: [{name: root, submitacl: '*'}]
`},
		{"the default partition twice, once without a name", `
partitions:
- name: Default
  queues: [{name: root, submitacl: '*'}]
- «V1»queues: [{name: root, submitacl: '*'}]
`},
		{"illegal queue names", rootHead + `
    queues:
    - name: «V5»a.b
    - name: «V5»white space
    - name: «V5»""
    - «V5»parent: true
    - name: «V5»abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm
`},
		{"sibling queues of one name in another case", rootHead + `
    queues:
    - name: sales
    - name: «V6»Sales
    - name: other
      queues:
      - name: sales
`},
		{"access lists with three lists", `
partitions:
- queues:
  - name: root
    submitacl: «V7»a b c
    adminacl: «V7»"alice, bob, carol"
`},
		{"an access list with two lists after a space", `
partitions:
- queues:
  - name: root
    submitacl: «L1»" alice dev"
`},
		{"illegal names in an access list", `
partitions:
- queues:
  - name: root
    submitacl: «acl-name»alice,b%b dev
    adminacl: «acl-name»alice, dev
    queues:
    - name: a
      submitacl: «acl-name»alice,*
    - name: b
      submitacl: «acl-name»alice a/b
`},
	}
}

func badPartitions() []badDocument {
	return []badDocument{
		{"a partition without queues", `
partitions:
- name: «V2»default
- name: «V2»gpu
  queues:
`},
		{"an unknown node sort policy, and illegal weights", rootHead + `
  nodesortpolicy:
    type: «V30»Fair
    resourceweights:
      memory: «V31»-1
      vcore: 0.5
      gpu: «yaml-type».nan
      disk: «yaml-type»much
`},
		{"YuniKorn's test resolver", rootHead + `
  usergroupresolver:
    type: «resolver-unknown»test
`},
		{"an unknown resolver", rootHead + `
  usergroupresolver:
    type: «resolver-unknown»LDAP
`},
		{"a misspelt default partition", `
partitions:
- name: gpu
  queues:
  - name: root
    submitacl: '*'
- name: «partition-default»defualt
  queues:
  - name: root
    submitacl: '*'
`},
		{"a partition without access lists", `
partitions:
- queues:
  - name: «no-submit-access»root
    queues:
    - name: a
`},
	}
}
