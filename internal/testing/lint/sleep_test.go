package lint

import (
	"go/ast"
	"testing"

	"gotest.tools/v3/assert"
)

var sleep = map[string]bool{"Sleep": true}

// testsDoNotSleep refuses time.Sleep in tests. Within testing/synctest it is exact and takes no time.
func testsDoNotSleep(s source) []string {
	if !s.isTest() || s.localName("testing/synctest") != "" {
		return nil
	}
	var problems []string
	s.uses("time", sleep, func(at ast.Node, _ string) {
		problems = append(problems, s.problem(at, "time.Sleep in a test: wait for the event, or use testing/synctest"))
	})
	return problems
}

// skipsHaveReasons refuses skipped tests that give no reason.
func skipsHaveReasons(s source) []string {
	if !s.isTest() {
		return nil
	}
	var problems []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if _, ok := method.X.(*ast.Ident); ok && isBareSkip(method.Sel.Name, call.Args) {
			problems = append(problems, s.problem(call, "a test is skipped without a reason"))
		}
		return true
	})
	return problems
}

func isBareSkip(method string, args []ast.Expr) bool {
	switch method {
	case "SkipNow":
		return true
	case "Skip", "Skipf":
		if len(args) == 0 {
			return true
		}
		text, ok := args[0].(*ast.BasicLit)
		return ok && (text.Value == `""` || text.Value == "``")
	}
	return false
}

func TestTests_DoNotSleep(t *testing.T) {
	tests := 0
	for _, s := range moduleSources(t) {
		if s.isTest() {
			tests++
		}
	}
	assert.Assert(t, tests >= 6, "only %d test files: was the tree really read?", tests)
	checkModule(t, testsDoNotSleep)

	const test = "pkg/objects/a_test.go"
	checkSnippets(t, testsDoNotSleep, []snippet{
		{
			name: "a test does not sleep", path: test,
			text: "package objects\nimport \"time\"\nfunc f() { time.Sleep(time.Second) }",
			want: []string{"time.Sleep in a test: wait for the event, or use testing/synctest"},
		}, {
			name: "in a bubble it may", path: test,
			text: "package objects\nimport (\n\"time\"\n\"testing/synctest\"\n)\n" +
				"func f() { synctest.Test(nil, nil); time.Sleep(time.Second) }",
		}, {
			name: "this rule is about tests only", path: "internal/server/loop/a.go",
			text: "package loop\nimport \"time\"\nfunc f() { time.Sleep(time.Second) }",
		},
	})
}

func TestSkips_HaveReasons(t *testing.T) {
	checkModule(t, skipsHaveReasons)
	const bare = "a test is skipped without a reason"
	checkSnippets(t, skipsHaveReasons, []snippet{
		{
			name: "a skip needs a reason", path: "pkg/objects/a_test.go",
			text: "package objects\nfunc f(t T) { t.Skip(); t.SkipNow(); t.Skip(\"\"); t.Skipf(``) }",
			want: []string{bare, bare, bare, bare},
		}, {
			name: "with one it passes", path: "pkg/objects/a_test.go",
			text: "package objects\nfunc f(t T) { t.Skip(\"needs a network\"); t.Skipf(\"needs %s\", x) }",
		},
	})
}
