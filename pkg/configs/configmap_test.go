package configs

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const configMapHead = `apiVersion: v1
kind: ConfigMap
metadata:
  name: yunikorn-configs
data:
  log.level: INFO
`

// asConfigMap is a text in a ConfigMap as people write one, indented by so much.
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
		"a policy group of its own": strings.Replace(asConfigMap(text, "    "), "queues.yaml", "team.yaml", 1),
		"beside others":             asConfigMap(text, "    ") + "  other.yaml: x\n",
	} {
		c := mustLoad(t, document)
		assert.Equal(t, c.Checksum, plain.Checksum, name)
		assert.Assert(t, Diff(plain, c).IsEmpty(), name)
		assert.Equal(t, string(QueuesYAML([]byte(document))), text, name)
	}
	assert.Equal(t, string(QueuesYAML([]byte(text))), text)
	assert.Equal(t, string(QueuesYAML([]byte("# a ConfigMap\n"+text))), "# a ConfigMap\n"+text)
}

// Every problem of a text is found in a ConfigMap, too, as far further down and to the right as
// the text is.
func TestConfigMap_ProblemPositions(t *testing.T) {
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		if strings.ContainsAny(text, "\t\x01\u0085") || strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || strings.Contains(text, "kind: ") {
			continue // cannot be written so, or is another document then
		}
		_, want := Load([]byte(text))
		_, got := Load([]byte(asConfigMap(text, "      ")))
		assert.Equal(t, len(got), len(want), c.name)
		for i := range got {
			assert.Equal(t, got[i].RuleID, want[i].RuleID, c.name)
			if want[i].Line > 1 || want[i].Col > 1 { // of the document itself: its first line
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
		{"a ConfigMap with several that could be one", "«configmap»kind: ConfigMap\ndata: {a.yaml: x, b.yaml: y}\n"},
		{"a ConfigMap that was written in one piece", "«configmap»kind: ConfigMap\ndata:\n  queues.yaml: {partitions: []}\n"},
		{"a ConfigMap with an empty queues.yaml", "kind: ConfigMap\ndata:\n  queues.yaml: «no-partition»''\n"},
		{"a queues.yaml that is not YAML", configMapHead + "  queues.yaml: |\n    partitions:\n    «yaml-syntax»- queues: [}\n"},
	}
}
