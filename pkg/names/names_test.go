package names

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestNames_LegalAndIllegal(t *testing.T) {
	a63, a64 := strings.Repeat("a", 63), strings.Repeat("a", 64)
	for _, c := range []struct {
		name    string
		problem func(string) string
		good    []string
		bad     []string
	}{
		{
			"object name", SubdomainProblem,
			[]string{"a", "0.a-b.c9", a64, strings.Repeat("a", 253)},
			[]string{"", "A", "a_b", "a-", "-a", "a..b", ".a", "a.", "größe", "a\n", "a/b", strings.Repeat("a", 254)},
		},
		{
			"namespace", NamespaceProblem,
			[]string{"a", "0", "kube-system", a63},
			[]string{"", "A", "a.b", "a-", "-a", "a_b", a64, "a\n"},
		},
		{
			"label key", LabelKeyProblem,
			[]string{"app", "App_2.x", "app.kubernetes.io/name", "a/b", strings.Repeat("a", 253) + "/" + a63},
			[]string{"", "/", "/a", "a/", "a/b/c", "A/b", "-a", "a-", "a b", a64, strings.Repeat("a", 254) + "/b", "a\n"},
		},
		{
			"label value", LabelValueProblem,
			[]string{"", "db", "Db_2.x-y", "1", a63},
			[]string{"-", "a-", ".a", "a b", "a/b", a64, "a\n"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range c.good {
				assert.Equal(t, c.problem(s), "", "%q", s)
			}
			for _, s := range c.bad {
				assert.Assert(t, c.problem(s) != "", "%q", s)
			}
		})
	}
}

func TestProblem_SaysHowLongNamesAre(t *testing.T) {
	assert.Equal(t, NamespaceProblem(strings.Repeat("a", 64)), "has 64 characters, at most 63 are allowed")
}
