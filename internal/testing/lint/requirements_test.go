package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// requirementsFile has the tables of requirements.
const requirementsFile = "pkg/scheduler/testdata/scenarios/REQUIREMENTS.md"

// requirements are the numbers of requirements in each document. Those of S1 repeat those of S0, and
// are listed together.
var requirements = map[string]int{"S0": 35, "S2": 34, "S3": 65, "S4": 83}

var (
	requirementPattern = regexp.MustCompile(`\b(S\d)-(\d+)(?: to (S\d)-(\d+))?`)
	scenarioPattern    = regexp.MustCompile(`\b(SC-\d{3}|CX-\d{2})\b( [b-z]\b)?`)
	evidencePattern    = regexp.MustCompile("`Test\\w+`|\\b(SC-\\d{3}|CX-\\d{2}|P\\d)\\b|\\bclasses\\b|^not there: " +
		"|^historic: |^the RM's; ")
)

// requirementsOf returns the numbers in the first cells of the tables of text, each with its evidence; a
// malformed row is a problem.
func requirementsOf(text string) (evidenceOf map[string]string, problems []string) {
	evidenceOf = map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(line, "| S") || !strings.Contains("01234", line[3:4]) {
			continue
		}
		by := strings.TrimSpace(cells[3])
		if len(cells) != 5 || !evidencePattern.MatchString(by) {
			problems = append(problems, fmt.Sprintf("%q says nothing by which it is shown", strings.TrimSpace(cells[1])))
		}
		for _, m := range requirementPattern.FindAllStringSubmatch(cells[1], -1) {
			from, _ := strconv.Atoi(m[2])
			to := from
			if m[4] != "" {
				to, _ = strconv.Atoi(m[4])
			}
			if from > to || m[3] != "" && m[3] != m[1] || from < 1 || to > requirements[m[1]] {
				problems = append(problems, fmt.Sprintf("there is no requirement %s", m[0]))
				continue
			}
			for ; from <= to; from++ {
				evidenceOf[fmt.Sprintf("%s-%d", m[1], from)] = by
			}
		}
		if strings.TrimSpace(cells[1]) == "S1" {
			evidenceOf["S1"] = by
		}
	}
	for document, n := range requirements {
		for i := range n {
			if name := fmt.Sprintf("%s-%d", document, i+1); evidenceOf[name] == "" {
				problems = append(problems, name+" is not in the table")
			}
		}
	}
	if evidenceOf["S1"] == "" {
		problems = append(problems, "S1 is not in the table")
	}
	return evidenceOf, problems
}

// Every requirement is in the table.
func TestRequirements_AreInTheTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, requirementsFile))
	assert.NilError(t, err)
	evidenceOf, problems := requirementsOf(string(text))
	for _, p := range problems {
		t.Errorf("%s: %s", requirementsFile, p)
	}
	assert.Assert(t, len(problems) > 0 || len(evidenceOf) == 35+1+34+65+83, "%d requirements", len(evidenceOf))
}

func TestRequirements_FindInvalidRows(t *testing.T) {
	missing := func(rows string) (problems []string) {
		_, all := requirementsOf(rows)
		for _, p := range all {
			if !strings.HasSuffix(p, "is not in the table") {
				problems = append(problems, p)
			}
		}
		return problems
	}
	for _, c := range []struct {
		row  string
		want []string
	}{
		{"| S0-1, S2-1 to S2-3 | order | SC-001; `TestOrder` |", nil},
		{"| S3-6 | switch | not there: why |", nil},
		{"| S0-1 | order | |", []string{`"S0-1" says nothing by which it is shown`}},
		{"| S0-1 | order | surely |", []string{`"S0-1" says nothing by which it is shown`}},
		{"| S4-84 | order | `TestOrder` |", []string{"there is no requirement S4-84"}},
		{"| S3-9 to S3-7 | order | `TestOrder` |", []string{"there is no requirement S3-9 to S3-7"}},
	} {
		assert.DeepEqual(t, missing(c.row), c.want)
	}
	evidenceOf, problems := requirementsOf("| S2-1 to S2-3 | order | `TestOrder` |")
	assert.Equal(t, len(evidenceOf), 3)
	assert.Equal(t, len(problems), 35+1+34-3+65+83, "what is missing is named")
}

// A table cites only scenarios that are tested.
func TestTables_NameExistingScenarios(t *testing.T) {
	existing := map[string]bool{}
	id := regexp.MustCompile(`"id": "([^"]+)"`)
	err := filepath.WalkDir(filepath.Join(root, "pkg"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".json" || filepath.Base(filepath.Dir(name)) != "scenarios" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range id.FindAllSubmatch(text, -1) {
			existing[string(m[1])] = true
		}
		return err
	})
	assert.NilError(t, err)
	text, err := os.ReadFile(filepath.Join(root, requirementsFile))
	assert.NilError(t, err)
	cited := scenarioPattern.FindAllString(string(text), -1)
	assert.Assert(t, len(cited) > 30, "only %d scenarios are cited: were the tables really read?", len(cited))
	for _, name := range cited {
		if !existing[name] {
			t.Errorf("%s cites %s, which is in no testdata/scenarios", requirementsFile, name)
		}
	}
}
