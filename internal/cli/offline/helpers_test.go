package offline

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const tenantsYAML = `
partitions:
- name: default
  placementrules:
  - name: provided
  - {name: user, create: true,
     parent: {name: tag, value: team, create: true, parent: {name: fixed, value: root.tenants}}}
  queues:
  - name: root
    adminacl: 'admin'
    queues:
    - name: tenants
      parent: true
      submitacl: ' dev,ops'
      childtemplate:
        maxapplications: 5
        properties: {application.sort.policy: fair, priority.offset: "10"}
        resources: {max: {vcore: 10500m, memory: 16Gi}, guaranteed: {memory: 1Gi}}
      queues:
      - name: red
        parent: true
    - name: open
      submitacl: '*'
- name: GPU
  queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

func newTestPartition(t testing.TB, text, partition string) *Partition {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, conf != nil, problems)
	w, err := New(conf, partition)
	assert.NilError(t, err)
	return w
}
