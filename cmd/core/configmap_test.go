package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// configMapQueues is the text of a ConfigMap with a queues.yaml.
func configMapQueues(queues string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-configs}\ndata:\n  log.level: INFO\n  " +
		"queues.yaml: |\n    " +
		strings.ReplaceAll(strings.TrimSuffix(queues, "\n"), "\n", "\n    ") + "\n"
}

// Every command that reads a queues.yaml reads one in a ConfigMap.
func TestCommands_ReadAConfigMap(t *testing.T) {
	inDirectory(t)
	const queues = "partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues: [{name: a}]\n"
	writeFile(t, "plain.yaml", queues)
	writeFile(t, "map.yaml", configMapQueues(queues))
	writeFile(t, "assertions.yaml",
		"assertions:\n- {name: a, place: {user: ann, queue: root.a}, expect: {queue: root.a}}\n")
	for args, want := range map[string]string{
		"validate map.yaml": "map.yaml: valid\n",
		"place --config map.yaml --user ann --queue root.a": "root.a: placed by",
		"plan --config map.yaml --against plain.yaml":       "nothing changes\n",
		"plan --config plain.yaml --against map.yaml":       "nothing changes\n",
		"test --config map.yaml assertions.yaml":            "1 passed, 0 failed\n",
	} {
		code, out, errs := runCanopy(strings.Fields(args)...)
		assert.Equal(t, code, 0, "%s: %s", args, errs)
		assert.Assert(t, strings.Contains(out, want), "%s: %s", args, out)
	}
	code, out, _ := runCanopy("validate", "--strict", "map.yaml", "plain.yaml")
	assert.Equal(t, code, 0, out)
}
