package validation

import (
	"os"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
)

func TestValidationRules_CommentMatchesTable(t *testing.T) {
	source, err := os.ReadFile("validation_rules.go")
	assert.NilError(t, err)
	row := regexp.MustCompile(`(?m)^//\t(\S+) +(error|warning) +(.*)$`)
	var got []Rule
	for _, m := range row.FindAllStringSubmatch(string(source), -1) {
		severity := Error
		if m[2] == Warning.String() {
			severity = Warning
		}
		got = append(got, Rule{m[1], severity, m[3]})
	}
	assert.DeepEqual(t, got, Rules())
}
