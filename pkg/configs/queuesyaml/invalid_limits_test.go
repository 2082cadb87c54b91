package queuesyaml

import (
	"testing"

	"gotest.tools/v3/assert"
)

func badLimits() []badDocument {
	return []badDocument{
		{"partition limits that differ from those of root", `
partitions:
- limits:
  «V9»- users: [alice]
    maxapplications: 1
  - users: [«V12»b%b]
    maxapplications: 1
  queues:
  - name: root
    submitacl: '*'
    limits:
    - limit: with a description
      users: [alice]
      maxapplications: 1
`},
		{"partition limits with another description", `
partitions:
- limits:
  «V9»- limit: one
    users: [alice]
    maxapplications: 1
  queues:
  - name: root
    submitacl: '*'
    limits:
    - limit: another
      users: [alice]
      maxapplications: 1
`},
		{"a limit with a malformed number only", rootHead + `
    limits:
    - users: [alice]
      maxapplications: «yaml-type»few
`},
		{"partition limits without root limits", `
partitions:
- limits:
  - «V11»maxapplications: 1
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: a
`},
		{"limits without users and groups, and without bounds", rootHead + `
    limits:
    - «V11»maxapplications: 1
    - «V17»users: [alice]
    - «V17»users: [bob]
      maxapplications: 0
      maxresources: {}
`},
		{"illegal names in a limit", rootHead + `
    limits:
    - users: [«V12»1st, a$, «V12»a$b, "a:b#c/d_e.f@g-h"]
      groups: [«V12»a/b, a.b, "a:b"]
      maxapplications: 1
`},
		{"duplicate names in the limits of a queue", rootHead + `
    limits:
    - users: [alice, «V13»alice]
      groups: [dev]
      maxapplications: 1
    - users: ["*"]
      groups: [«V13»dev]
      maxapplications: 1
    - users: [«V13»"*"]
      maxapplications: 1
`},
		{"names after the wildcard", rootHead + `
    limits:
    - users: [alice, "*", «V14»bob]
      maxapplications: 1
    - users: [«V14»carol]
      groups: [dev, "*", «V14»ops]
      maxapplications: 1
`},
		{"a wildcard group alone", rootHead + `
    limits:
    - groups: [«V15»"*"]
      maxapplications: 1
`},
		{"malformed maxresources, and maxresources of zeroes only", rootHead + `
    limits:
    - users: [alice]
      maxresources: {memory: «V16»1.5}
    - users: [bob]
      maxapplications: 1
      maxresources: «V16»{memory: 0, vcore: 0}
    - users: [carol]
      maxresources: {memory: 0, vcore: 1}
`},
		{"limits above max and maxapplications of the queue", rootHead + `
    queues:
    - name: a
      maxapplications: 5
      resources: {max: {memory: 10Gi, vcore: 1}}
      limits:
      - users: [alice]
        maxapplications: «V18»6
        maxresources: {memory: «V19»11Gi, vcore: «V19»2, gpu: 100}
      - users: [bob]
        maxapplications: 5
        maxresources: {memory: 10Gi}
`},
		{"a limit above maxapplications of root", `
partitions:
- queues:
  - name: root
    submitacl: '*'
    maxapplications: 5
    limits:
    - users: [alice]
      maxapplications: «V18»6
`},
		{"a limit of a nested queue called root", rootHead + `
    queues:
    - name: root
      resources: {max: {memory: 10Gi}}
      limits:
      - users: [alice]
        maxresources: {memory: «V19»11Gi}
`},
		{"maxresources above the limits of the queues above", rootHead + `
    limits:
    - users: [alice]
      groups: [dev]
      maxresources: {memory: 10Gi, vcore: 1}
    - users: ["*"]
      groups: ["*"]
      maxresources: {memory: 5Gi}
    queues:
    - name: a
      limits:
      - users: [alice]
        maxresources: {memory: 8Gi}
      queues:
      - name: b
        limits:
        - users: [alice]
          maxresources: {memory: «V20»9Gi, vcore: «V20»2}
        - users: [bob]
          groups: [ops]
          maxresources: {memory: «V20»«V20»6Gi, gpu: 5}
        - users: [carol]
          maxresources: {memory: 5Gi}
        - users: ["*"]
          groups: [dev, "*"]
          maxresources: {memory: «V20»«V20»«V20»11Gi}
`},
		{"maxapplications above the limits of the queues above", rootHead + `
    limits:
    - users: [alice]
      maxapplications: 10
    - users: ["*"]
      maxapplications: 5
    queues:
    - name: a
      limits:
      - users: [alice]
        maxapplications: «V21»11
      - users: [bob]
        maxapplications: «V21»6
      - «V21»users: [carol]
        maxresources: {memory: 1Gi}
      - users: [dave]
        maxapplications: «V21»0
        maxresources: {memory: 1Gi}
      - users: ["*"]
        maxapplications: 5
`},
	}
}

// The hint of V21 suggests values that V18 allows too.
func TestLimitHint_RespectsTheQueuesOwnBound_V21(t *testing.T) {
	for own, want := range map[string]string{"": "from 1 to 9", "maxapplications: 4, ": "from 1 to 4",
		"maxapplications: 20, ": "from 1 to 9"} {
		_, problems := Load([]byte(rootHead + "    limits: [{users: [ann], maxapplications: 9}]\n" +
			"    queues: [{name: a, " + own + "limits: [{users: [ann], maxresources: {vcore: 1}}]}]\n"))
		assert.Equal(t, len(problems), 1)
		assert.Equal(t, problems[0].RuleID, "V21")
		assert.Equal(t, problems[0].Hint, "set it to a number "+want)
	}
}

// Limits of a partition and of its root are compared by what they mean, not by how they are written (CFG-53).
func TestLoad_LimitsOfPartitionAndRootMayBeSpeltDifferently(t *testing.T) {
	text := func(root string) []byte {
		return []byte("partitions: [{limits: [{users: [a], maxresources: {vcore: 1}}], queues: [{name: root, " +
			"submitacl: '*', limits: [{users: [a], maxresources: {vcore: " + root + "}}]}]}]")
	}
	_, problems := Load(text("1000m"))
	assert.Equal(t, len(problems), 0, "%v", problems)
	_, problems = Load(text("1001m"))
	assert.Equal(t, len(problems), 1)
	assert.Equal(t, problems[0].RuleID, "V9")
}
