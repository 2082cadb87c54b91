package webservice_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

var (
	ruleHeading = regexp.MustCompile(`(?m)^### ([A-Z]+-\d+) `)
	fieldInRule = regexp.MustCompile("`([a-z]+[A-Z][A-Za-z]*)`")
)

// notFields are words of such rules that are no fields: values, keys of a map, and keys of a resource manager.
var notFields = []string{"nodesRejectedByRM", "noVictims", "victimsRefusedByRM", "nominationGivenUp", "rmId",
	"minMember"}

// A rule that is implemented here and names a field of REST names one that an answer has: one of the golden answers, or
// of the OpenAPI document. QUE-33 had a field that was renamed.
func TestRules_NameFieldsThatAnswersHave(t *testing.T) {
	var known strings.Builder
	golden, err := filepath.Glob("testdata/*.json")
	assert.NilError(t, err)
	for _, name := range golden {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		known.Write(text)
	}
	description, err := json.Marshal(described().document)
	assert.NilError(t, err)
	known.Write(description)
	documents, err := filepath.Glob("../../docs/behaviour/*.md")
	assert.NilError(t, err)
	fields := 0
	for _, name := range documents {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		starts := ruleHeading.FindAllStringSubmatchIndex(string(text), -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			rule, evidence, _ := strings.Cut(string(text[at[0]:end]), "\n- Implemented in:")
			implemented, _, _ := strings.Cut(evidence, "\n- Shown by:")
			if !strings.Contains(implemented, "pkg/webservice/") {
				continue
			}
			for _, m := range fieldInRule.FindAllStringSubmatch(rule, -1) {
				if slices.Contains(notFields, m[1]) {
					continue
				}
				fields++
				word := regexp.MustCompile(`\b` + m[1] + `\b`)
				assert.Check(t, word.MatchString(known.String()), "%s of %s names %s, which no answer has", text[at[2]:at[3]], name,
					m[1])
			}
		}
	}
	assert.Assert(t, fields > 60, "only %d fields: were the rules really read?", fields)
}
