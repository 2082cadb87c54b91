package queuesyaml

import (
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

func offset(queue, value string) QueueValue {
	return QueueValue{queue, []string{"properties", configs.PriorityOffsetProperty}, value}
}

func guarantee(queue, resource, value string) QueueValue {
	return QueueValue{queue, []string{"resources", "guaranteed", resource}, value}
}

func TestEditQueues_ChangesNothingElse(t *testing.T) {
	const block = `# all pools
partitions:
  - name: default   # the only one
    queues:
      - name: root
        queues:
          # the web shop
          - name: Prod # do not touch
            resources:
              # agreed in May
              guaranteed:
                vcore: 10   # cores
                "memory": '5G'
              max: {vcore: 100}

            properties:
              # above dev
              priority.offset: 7 # seven
          - name: dev
`
	const flow = "partitions:\n  - {queues: [{name: é, submitacl: \"*\", queues: [{name: b, resources: {guaranteed: " +
		"{vcore: 5}, max: {}}, properties: {}}]}]}\n"
	for _, c := range []struct {
		name, text string
		values     []QueueValue
		want       string
	}{
		{"numbers are replaced, and comments kept", block,
			[]QueueValue{offset("root.prod", "17"), guarantee("root.prod", "vcore", "12"),
				guarantee("root.prod", "memory", "6G")},
			strings.NewReplacer("offset: 7", "offset: 17", "vcore: 10 ", "vcore: 12 ", "'5G'", "6G").Replace(block)},
		{"a resource is added behind the last one", block, []QueueValue{guarantee("root.prod", "gpu", "1")},
			strings.Replace(block, "'5G'\n", "'5G'\n                gpu: 1\n", 1)},
		{"the mappings on the way are added", block,
			[]QueueValue{offset("root.dev", "-3"), guarantee("root.dev", "vcore", "500m")},
			block + "            resources:\n              guaranteed:\n                vcore: 500m\n            " +
				"properties:\n              priority.offset: -3\n"},
		{"a guarantee is added above a max in block style",
			"partitions:\n- queues:\n  - name: a\n    resources:\n      max:\n        vcore: 1\n",
			[]QueueValue{guarantee("root.a", "vcore", "1")},
			"partitions:\n- queues:\n  - name: a\n    resources:\n      guaranteed:\n        vcore: 1\n      max:\n        " +
				"vcore: 1\n"},
		{"flow style stays flow style", flow,
			[]QueueValue{offset("root.é.b", "5"), guarantee("root.é.b", "memory", "1G"), offset("root.é", "1")},
			"partitions:\n  - {queues: [{name: é, submitacl: \"*\", properties: {priority.offset: 1}, queues: [{name: b, " +
				"resources: {guaranteed: {vcore: 5, memory: 1G}, max: {}}, properties: {priority.offset: 5}}]}]}\n"},
		{"a mapping without a scalar", "partitions: [{queues: [{name: a, resources: {max: {vcore: 1}}}]}]",
			[]QueueValue{guarantee("root.a", "vcore", "1")},
			"partitions: [{queues: [{name: a, resources: {guaranteed: {vcore: 1}, max: {vcore: 1}}}]}]"},
		{"null is encoded anew", "partitions: # pools\n  - queues:   [{name: a, properties: ~}]\n",
			[]QueueValue{offset("root.a", "1")},
			"partitions: # pools\n  - queues: [{name: a, properties: {priority.offset: 1}}]\n"},
		{"lines are counted otherwise than by the parser", "# x\rpartitions:\n- queues:\n  - name: a\n  - name: ab\n",
			[]QueueValue{offset("root.a", "1")},
			"# x\npartitions:\n  - queues:\n      - name: a\n        properties:\n          priority.offset: 1\n      - name: " +
				"ab\n"},
		{"ends of lines are kept", "partitions:\r\n  - queues:\r\n      - name: a # x\r\n",
			[]QueueValue{offset("root.a", "1")},
			"partitions:\r\n  - queues:\r\n      - name: a # x\r\n        properties:\r\n          priority.offset: 1\r\n"},
		{"a text in a ConfigMap", "kind: ConfigMap\ndata:\n  queues.yaml: |\n    partitions: [{queues: [{name: a}]}] # all\n",
			[]QueueValue{offset("root.a", "1")},
			"partitions: [{queues: [{name: a, properties: {priority.offset: 1}}]}] # all\n"},
		{"the partition of the name", "partitions: [{name: x, queues: [{name: a}]}, {queues: [{name: a}]}]",
			[]QueueValue{offset("root.a", "1")},
			"partitions: [{name: x, queues: [{name: a}]}, {queues: [{name: a, properties: {priority.offset: 1}}]}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := EditQueues([]byte(c.text), "default", c.values...)
			assert.NilError(t, err)
			assert.Equal(t, string(got), c.want)
		})
	}
}

func TestEditQueues_RefusesWhatIsNotThere(t *testing.T) {
	for want, text := range map[string]string{
		"the text has no queue root.a in partition default": "partitions: [{queues: [{name: b}]}]",
		"did not find expected":                             "partitions: [",
		"in partition default":                              "",
	} {
		_, err := EditQueues([]byte(text), "default", offset("root.a", "1"))
		assert.ErrorContains(t, err, want)
	}
	_, err := EditQueues([]byte("partitions: [{queues: []}]"), "gpu", offset("root.a", "1"))
	assert.Error(t, err, "the text has no queue root.a in partition gpu")
}

// FuzzEditQueues edits queues of every valid text: the result has the values and no other change.
func FuzzEditQueues(f *testing.F) {
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add([]byte(text), int32(5))
	}
	f.Add(Default(), int32(-5))
	f.Add([]byte("partitions:\n- queues:\n  - name: \"a\\\n      b\"\n    properties: {a: |-\n      x}\n"), int32(7))
	f.Fuzz(func(t *testing.T, text []byte, n int32) {
		old, _ := Load(text)
		if old == nil {
			return
		}
		for _, p := range old.Partitions {
			for _, q := range p.Root.Children {
				out, err := EditQueues(text, p.Name, offset(configs.RootQueue+"."+q.Name, strconv.Itoa(int(n))))
				assert.NilError(t, err)
				conf, problems := Load(out)
				assert.Assert(t, conf != nil, "%v", problems)
				for _, change := range diff.Compare(old, conf).Partitions {
					assert.Equal(t, change.Partition, p.Name)
					assert.Equal(t, len(change.Settings)+len(change.Limits), 0)
					assert.Equal(t, len(change.Queues), 1)
					assert.Equal(t, change.Queues[0].Queue, configs.RootQueue+"."+q.Name)
					for _, v := range change.Queues[0].Values {
						assert.Equal(t, v.Name, configs.PriorityOffsetProperty)
					}
				}
				assert.Equal(t, queueOf(conf, p.Name, q.Name).PriorityOffset, n)
			}
		}
	})
}

func queueOf(c *configs.Config, partition, name string) configs.Queue {
	for _, p := range c.Partitions {
		for _, q := range p.Root.Children {
			if p.Name == partition && q.Name == name {
				return q
			}
		}
	}
	return configs.Queue{}
}
