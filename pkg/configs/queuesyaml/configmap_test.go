package queuesyaml

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

const configMapHead = `apiVersion: v1
kind: ConfigMap
metadata:
  name: yunikorn-configs
data:
  log.level: INFO
`

// asConfigMap is a ConfigMap with a text as a literal block, indented by indent.
func asConfigMap(text, indent string) string {
	return configMapHead + "  queues.yaml: |\n" + indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
}

func TestConfigMap_ReadsQueuesYAML(t *testing.T) {
	const text = "partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues: [{name: a}]\n"
	plain := mustLoad(t, text)
	quoted, err := json.Marshal(map[string]any{"kind": "ConfigMap", "data": map[string]string{"queues.yaml": text}})
	assert.NilError(t, err)
	for name, document := range map[string]string{
		"indented": asConfigMap(text, "    "), "further": asConfigMap(text, "        "), "JSON": string(quoted),
		"another policy group": strings.Replace(asConfigMap(text, "    "), "queues.yaml", "team.yaml", 1),
		"with other keys":      asConfigMap(text, "    ") + "  other.yaml: x\n",
	} {
		c := mustLoad(t, document)
		assert.Equal(t, c.Checksum, plain.Checksum, name)
		assert.Assert(t, diff.Compare(plain, c).IsEmpty(), name)
		assert.Equal(t, string(QueuesYAML([]byte(document))), text, name)
	}
	assert.Equal(t, string(QueuesYAML([]byte(text))), text)
	assert.Equal(t, string(QueuesYAML([]byte("# a ConfigMap\n"+text))), "# a ConfigMap\n"+text)
}

// Every problem of a text is reported in a ConfigMap too, with line and column moved to those of the
// ConfigMap (CFG-18).
func TestConfigMap_ProblemPositions(t *testing.T) {
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		if strings.ContainsAny(text, "\t\x01\u0085") || strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || strings.Contains(text, "kind: ") {
			continue // not possible in a literal block, or another document there
		}
		_, want := Load([]byte(text))
		_, got := Load([]byte(asConfigMap(text, "      ")))
		assert.Equal(t, len(got), len(want), c.name)
		for i := range got {
			assert.Equal(t, got[i].RuleID, want[i].RuleID, c.name)
			if want[i].Line > 1 || want[i].Col > 1 { // otherwise a problem of the document itself, in its first line
				assert.Equal(t, got[i].Line, want[i].Line+7, "%s: %v", c.name, got[i])
				assert.Equal(t, got[i].Col, want[i].Col+6, "%s: %v", c.name, got[i])
			}
		}
	}
}

func TestConfigMap_QuotedTextHasPositionsInMessages(t *testing.T) {
	_, problems := Load([]byte(`{"kind": "ConfigMap", "data": {"queues.yaml": "partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    nonsense: 1\n"}}`))
	assert.Equal(t, problems.Error(), `1:47: error [yaml-unknown-key] root: unknown key "nonsense" in a queue (line 5, column 5 of its queues.yaml)`)
}

func badConfigMaps() []badDocument {
	return []badDocument{
		{"an object of another kind", "«configmap»kind: Deployment\nspec: {}\n"},
		{"a ConfigMap without data", "«configmap»kind: ConfigMap\n"},
		{"a ConfigMap without a queues.yaml", "«configmap»kind: ConfigMap\ndata: {log.level: INFO}\n"},
		{"a ConfigMap with several candidates", "«configmap»kind: ConfigMap\ndata: {a.yaml: x, b.yaml: y}\n"},
		{"a ConfigMap whose queues.yaml is a mapping", "«configmap»kind: ConfigMap\ndata:\n  queues.yaml: {partitions: []}\n"},
		{"a ConfigMap with an empty queues.yaml", "kind: ConfigMap\ndata:\n  queues.yaml: «no-partition»''\n"},
		{"a queues.yaml that is not YAML", configMapHead + "  queues.yaml: |\n    partitions:\n    «yaml-syntax»- queues: [}\n"},
	}
}

func TestConfigMap_IgnoredKeys(t *testing.T) {
	const text = "kind: ConfigMap\ndata:\n  log.level: info\n  queues.yaml: |\n    partitions: []\n  other.yaml: x\n"
	assert.DeepEqual(t, IgnoredConfigMapKeys([]byte(text)), []string{"log.level", "other.yaml"})
	for _, none := range []string{"", "ConfigMap", "kind: ConfigMap", "kind: ConfigMap\ndata: {queues.yaml: x}", "{kind: Secret, data: {a: ConfigMap}}", "partitions: []", ": ConfigMap"} {
		assert.Equal(t, len(IgnoredConfigMapKeys([]byte(none))), 0, none)
	}
}
