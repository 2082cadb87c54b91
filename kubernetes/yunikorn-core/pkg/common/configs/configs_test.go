package configs_test

import (
	"testing"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

const everything = `
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
        parent: {name: fixed, value: root.teams}
        filter: {type: allow, users: [ann, bob]}
    limits:
      - {limit: all, users: ['*'], maxapplications: 100, maxresources: {vcore: 50}}
    preemption: {enabled: true, quotapreemptionenabled: true}
    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 2}}
    usergroupresolver: {type: os}
    queues:
      - name: root
        adminacl: ops
        submitacl: '*'
        queues:
          - name: teams
            parent: true
            maxapplications: 20
            properties: {priority.policy: fence}
            resources: {guaranteed: {vcore: 4}, max: {vcore: 8, memory: 2Gi}}
            childtemplate:
              maxapplications: 3
              properties: {application.sort.policy: fair}
              resources: {max: {vcore: 2}}
`

// What is read from a text is written again: a text of every setting comes back with all of them, and is valid.
func TestLoad_RoundTrip(t *testing.T) {
	text := []byte(everything)
	config, err := configs.LoadSchedulerConfigFromByteArray(text)
	assert.NilError(t, err)
	assert.Equal(t, len(config.Checksum), 64)
	teams := config.Partitions[0].Queues[0].Queues[0]
	assert.DeepEqual(t, teams.Resources.Guaranteed, map[string]string{"vcore": "4"})
	assert.Equal(t, teams.ChildTemplate.Properties[configs.ApplicationSortPolicy], "fair")
	assert.Equal(t, config.Partitions[0].PlacementRules[0].Parent.Value, "root.teams")
	assert.Assert(t, *config.Partitions[0].Preemption.QuotaPreemptionEnabled)

	config.Checksum = ""
	written, err := yaml.Marshal(config)
	assert.NilError(t, err)
	again, err := configs.LoadSchedulerConfigFromByteArray(written)
	assert.NilError(t, err, "%s", written)
	again.Checksum = ""
	assert.DeepEqual(t, again, config)
}

// The default configuration is that of a scheduler without any other.
func TestDefaultSchedulerConfig_IsThatOfTheScheduler(t *testing.T) {
	config, err := configs.LoadSchedulerConfigFromByteArray([]byte(configs.DefaultSchedulerConfig))
	assert.NilError(t, err)
	s, err := canopy.Start(t.Context(), canopy.Options{})
	assert.NilError(t, err)
	defer func() { assert.NilError(t, s.Close()) }()
	inForce, err := configs.LoadSchedulerConfigFromByteArray([]byte(s.Generation().Text))
	assert.NilError(t, err)
	assert.Equal(t, inForce.Checksum, s.Generation().Checksum)
	inForce.Checksum, config.Checksum = "", ""
	assert.DeepEqual(t, config, inForce)
}

func TestLoad_InvalidTextHasAllProblems(t *testing.T) {
	_, err := configs.LoadSchedulerConfigFromByteArray([]byte("partitions: [{queues: [{name: root, queues: [{name: " +
		"a.b}, {name: c.d}]}]}]"))
	assert.ErrorContains(t, err, "a.b")
	assert.ErrorContains(t, err, "c.d")
	_, err = configs.LoadSchedulerConfigFromByteArray([]byte("kind: ConfigMap\napiVersion: v1\nmetadata: {name: " +
		"x}\ndata: {queues.yaml: 'partitions: [{queues: [{name: root}]}]'}\n"))
	assert.ErrorContains(t, err, "ConfigMap")
}
