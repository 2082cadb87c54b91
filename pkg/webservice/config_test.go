package webservice

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// FuzzConfigView checks that viewConfig can parse every text that pkg/configs accepts, and that the
// configuration it shows is valid and equivalent.
func FuzzConfigView(f *testing.F) {
	files, err := filepath.Glob("../../examples/*.yaml")
	assert.NilError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(f, err)
		f.Add(string(text))
	}
	f.Add(string(queuesyaml.Default()))
	f.Add("partitions: [{name: DEFAULT, queues: [{name: a, maxapplications: '5', resources: {max: {memory: 10}}}]}]")
	f.Add("partitions: [{queues: [{name: ROOT, parent: yes, properties: {a: 1, b: true, c: null}}], limits: " +
		"[{users: ['*'], maxapplications: 7}], preemption: {enabled: no}, nodesortpolicy: {resourceweights: {vcore: 1}}}]")
	f.Add("partitions: [{classesneedingquota: [{operator: In, classes: [a]}, {operator: Exists}], queues: [{name: a, " +
		"classquotas: " +
		"[{name: q, match: {operator: NotIn, classes: [a, b]}, users: ['*'], groups: [dev], hard: {pods: 5, vcore: 500m}}, " +
		"{name: r, match: {operator: Exists, classes: }, hard: {memory: 0}}]}]}]")
	f.Add("partitions: [{queues: &q [{name: a}]}, {name: b, queues: *q}]")
	f.Add("priorityclasses: [{metadata: {name: a, labels: {1: 2}}, value: 0x10, globalDefault: yes, description: 5}, " +
		"{name: b, metadata: {name: b}, kind: PriorityClass, value: -1, preemptionPolicy: Never, submitacl: ''}]")
	f.Add("disruptionbudgets: [{metadata: {name: a, namespace: b}, spec: {minAvailable: 0x10, selector: {matchLabels: " +
		"{a: yes, b: }}}, " +
		"status: {c: 1}}, {name: b, maxUnavailable: 5%, selector: {matchExpressions: [{key: c, operator: In, values: [1, " +
		"true]}]}}, {name: c, allowed: 0}]")
	f.Fuzz(func(t *testing.T, text string) {
		conf, _ := queuesyaml.Load([]byte(text))
		if conf == nil {
			return
		}
		g := &reload.Generation{Number: 3, Text: text, Checksum: conf.Checksum}
		body, err := dao.NewConfig(g, true)
		assert.NilError(t, err)
		assert.Equal(t, len(body.Partitions.([]any)), len(conf.Partitions))
		_, err = json.Marshal(body)
		assert.NilError(t, err)
		body, err = dao.NewConfig(g, false)
		assert.NilError(t, err)
		out, err := yaml.Marshal(map[string]any{
			"partitions": body.Partitions, "priorityclasses": body.PriorityClasses, "disruptionbudgets": body.DisruptionBudgets,
		})
		assert.NilError(t, err)
		again, problems := queuesyaml.Load(out)
		assert.Assert(t, again != nil, "%v\n%s", problems, out)
		assert.Equal(t, len(again.Partitions), len(conf.Partitions))
		for i := range conf.Partitions {
			assert.DeepEqual(t, again.Partitions[i].ClassesNeedingQuota, conf.Partitions[i].ClassesNeedingQuota)
			sameClassQuotas(t, &again.Partitions[i].Root, &conf.Partitions[i].Root)
		}
		assert.Assert(t, again.Classes.Equal(conf.Classes), "%v\n%v", again.Classes.All(), conf.Classes.All())
		assert.Assert(t, again.Budgets.Equal(conf.Budgets), "%v\n%v", again.Budgets.All(), conf.Budgets.All())
	})
}

func sameClassQuotas(t *testing.T, got, want *configs.Queue) {
	assert.Equal(t, fmt.Sprint(got.ClassQuotas), fmt.Sprint(want.ClassQuotas), got.Name)
	assert.Equal(t, len(got.Children), len(want.Children))
	for i := range want.Children {
		sameClassQuotas(t, &got.Children[i], &want.Children[i])
	}
}
