package lint

import (
	"go/ast"
	"go/token"
	"testing"

	"gotest.tools/v3/assert"
)

// clocks are the functions of package time that read the machine's clock.
var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true,
	"NewTimer": true, "NewTicker": true, "Sleep": true, "Tick": true,
}

// coreHasNoClockOrGoroutine refuses clocks, goroutines and channels in the core and in the packages of
// deterministic.
func coreHasNoClockOrGoroutine(s source) []string {
	if !isPure(s.dir()) || s.isTest() {
		return nil
	}
	var problems []string
	s.uses("time", clocks, func(at ast.Node, name string) {
		problems = append(problems, s.problem(at, "time.%s in the pure core", name))
	})
	refuse := func(n ast.Node, what string) {
		problems = append(problems, s.problem(n, "%s in the pure core", what))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			refuse(x, "a go statement")
		case *ast.SelectStmt:
			refuse(x, "a select")
		case *ast.ChanType:
			refuse(x, "a channel type")
		case *ast.SendStmt:
			refuse(x, "a send")
		case *ast.UnaryExpr:
			if x.Op == token.ARROW {
				refuse(x, "a receive")
			}
		}
		return true
	})
	return problems
}

func TestCore_NoClockOrGoroutine(t *testing.T) {
	coreFiles := 0
	for _, s := range moduleSources(t) {
		if isPure(s.dir()) && !s.isTest() {
			coreFiles++
		}
	}
	assert.Assert(t, coreFiles >= minFiles, "only %d files of the core: was the tree really read?", coreFiles)
	checkModule(t, coreHasNoClockOrGoroutine)

	const clock = "import \"time\"\n"
	checkSnippets(t, coreHasNoClockOrGoroutine, []snippet{
		{
			name: "times are values",
			text: "package objects\n" + clock + "func f(now time.Time) bool { return now.After(now.Add(time.Second)) }",
		}, {
			name: "nobody reads a clock",
			text: "package objects\n" + clock + "func f() time.Duration { return time.Since(time.Now()) }",
			want: []string{"time.Since in the pure core", "time.Now in the pure core"},
		}, {
			name: "nor hands one on under another name",
			text: "package objects\nimport clock \"time\"\nvar now = clock.Now",
			want: []string{"time.Now in the pure core"},
		}, {
			name: "nor imports it away",
			text: "package objects\nimport . \"time\"\nvar x = Now()",
			want: []string{"time.Now in the pure core"},
		}, {
			name: "nothing runs beside it",
			text: "package objects\nfunc f(c chan int) {\ngo f(nil)\nc <- 1\nselect {}\n<-c\n}",
			want: []string{
				"a channel type in the pure core", "a go statement in the pure core", "a send in the pure core",
				"a select in the pure core", "a receive in the pure core",
			},
		}, {
			name: "the reader of queues.yaml, above the core, has no clock either",
			path: "pkg/configs/queuesyaml/a.go",
			text: "package queuesyaml\n" + clock + "var now = time.Now()",
			want: []string{"time.Now in the pure core"},
		}, {
			name: "the loop may do all that",
			path: "internal/server/loop/a.go",
			text: "package loop\n" + clock + "func f(c chan int) { go f(nil); c <- 1; time.Sleep(1) }",
		}, {
			name: "tests of the core may too",
			path: "pkg/objects/a_test.go",
			text: "package objects\n" + clock + "func f(c chan int) { go f(nil); _ = time.Now() }",
		},
	})
}
