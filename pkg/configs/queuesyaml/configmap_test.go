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
	return configMapHead + "  queues.yaml: |\n" + indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n",
		"\n"+indent) + "\n"
}

// helmValues are the values of YuniKorn's chart with a text, indented.
func helmValues(text, indent string) string {
	values := "imagePullSecrets: []\nyunikornDefaults:\n  log.level: INFO\n  queues.yaml: |\n    " +
		strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
	return indent + strings.ReplaceAll(strings.TrimSuffix(values, "\n"), "\n", "\n"+indent) + "\n"
}

func TestConfigMap_IsMissing(t *testing.T) {
	for document, want := range map[string]string{
		"yunikornDefaults: {log.level: INFO}\n": "1:1: error [configmap] the Helm chart's yunikornDefaults has no " +
			"yunikornDefaults.queues.yaml",
		"kind: HelmRelease\nspec: {chart: x}\n":  "1:1: error [configmap] the HelmRelease has no yunikornDefaults",
		"kind: List\nitems: [{kind: Service}]\n": "1:1: error [configmap] the list of objects has no data",
		"kind: List\nitems:\n- {kind: ConfigMap, data: {queues.yaml: a}}\n- {kind: ConfigMap, data: {queues.yaml: b}}\n": "" +
			"1:1: error [configmap] the list of objects, of which several have a queues.yaml, has no data",
		"kind: Deployment\n": `1:1: error [configmap] the document is a Kubernetes object of kind "Deployment"`,
	} {
		_, problems := Load([]byte(document))
		assert.Equal(t, len(problems), 1, document)
		message, _, _ := strings.Cut(problems.Error(), " (hint: ")
		assert.Equal(t, message, want, document)
	}
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
		"values of Helm":       helmValues(text, ""),
		"values of a chart that has YuniKorn's as a part": "yunikorn:\n" + helmValues(text, "  "),
		"a HelmRelease": "kind: HelmRelease\nspec:\n  values:\n" + helmValues(text, "    "),
		"a list": "kind: List\nitems:\n- kind: Service\n- " + strings.ReplaceAll(asConfigMap(text, "    "), "\n",
			"\n  "),
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
		if strings.ContainsAny(text, "\t\x01\u0085") || strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") ||
			strings.Contains(text, "kind: ") {
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
	_, problems := Load([]byte(`{"kind": "ConfigMap", "data": {"queues.yaml": "partitions:\n- queues:\n  - name: root\n ` +
		`   submitacl: '*'\n    nonsense: 1\n"}}`))
	assert.Equal(t, problems.Error(),
		`1:47: error [yaml-unknown-key] root: unknown key "nonsense" in a queue (line 5, column 5 of its queues.yaml)`)
}

func badConfigMaps() []badDocument {
	return []badDocument{
		{"an object of another kind", "«configmap»kind: Deployment\nspec: {}\n"},
		{"a ConfigMap without data", "«configmap»kind: ConfigMap\n"},
		{"a ConfigMap without a queues.yaml", "«configmap»kind: ConfigMap\ndata: {log.level: INFO}\n"},
		{"a ConfigMap with several candidates", "«configmap»kind: ConfigMap\ndata: {a.yaml: x, b.yaml: y}\n"},
		{"a ConfigMap whose queues.yaml is a mapping",
			"«configmap»kind: ConfigMap\ndata:\n  queues.yaml: {partitions: []}\n"},
		{"a ConfigMap with an empty queues.yaml", "kind: ConfigMap\ndata:\n  queues.yaml: «no-partition»''\n"},
		{"a queues.yaml that is not YAML",
			configMapHead + "  queues.yaml: |\n    partitions:\n    «yaml-syntax»- queues: [}\n"},
	}
}

func TestConfigMap_IgnoredKeys(t *testing.T) {
	const text = "kind: ConfigMap\ndata:\n  log.level: info\n  queues.yaml: |\n    partitions: []\n  other.yaml: x\n"
	assert.DeepEqual(t, IgnoredConfigMapKeys([]byte(text)), []string{"log.level", "other.yaml"})
	for _, none := range []string{"", "ConfigMap", "kind: ConfigMap", "kind: ConfigMap\ndata: {queues.yaml: x}",
		"{kind: Secret, data: {a: ConfigMap}}", "partitions: []", ": ConfigMap"} {
		assert.Equal(t, len(IgnoredConfigMapKeys([]byte(none))), 0, none)
	}
}
