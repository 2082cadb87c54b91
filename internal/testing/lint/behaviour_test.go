package lint

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Consistency of the rules of docs/behaviour with the files that implement them, the tests that show
// them and the comments that cite them.

var (
	ruleHeading  = regexp.MustCompile(`^### ([A-Z]{2,3})-(\d+) (\S.*)$`)
	ruleLine     = regexp.MustCompile(`^- (Implemented in|Shown by|Differs from YuniKorn 1\.9):(.*)$`)
	ruleCitation = regexp.MustCompile(`\b(?:CFG|QUE|PLC|ACL|ORD|PRI|APP|ASK|NOD|QUO|LIM|PRE|RMI|OBS|CON|GAN|RES|EXP|` +
		`OPS|RST|SEC|USG|WEB|REC|WIF|HAS|HA)-\d+\b`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// A behaviourRule is one rule of docs/behaviour.
type behaviourRule struct {
	id, title   string
	document    string
	implemented [][2]string // file, function or type; the second may be empty
	shown       [][2]string // package directory, test, with the name of a subtest or a transcript behind a slash
}

// rulesOf reads the rules of one document. What is not in the form that docs/behaviour/README.md
// describes is a problem.
func rulesOf(document, text string) (rules []behaviourRule, problems []string) {
	wrong := func(line int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s:%d: ", document, line)+fmt.Sprintf(format, args...))
	}
	prefix := ""
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := ruleHeading.FindStringSubmatch(line); m != nil {
			id := m[1] + "-" + m[2]
			if prefix == "" {
				prefix = m[1]
			}
			if want := fmt.Sprintf("%s-%d", prefix, len(rules)+1); id != want {
				wrong(i+1, "rule %s should be %s: numbers follow each other", id, want)
			}
			rules = append(rules, behaviourRule{id: id, title: m[3], document: document})
			continue
		}
		if strings.HasPrefix(line, "### ") {
			wrong(i+1, "%q is no rule number and title", line)
			continue
		}
		m := ruleLine.FindStringSubmatch(line)
		if m == nil || len(rules) == 0 {
			continue
		}
		evidence, next := m[2], i+1
		for next < len(lines) && strings.HasPrefix(lines[next], "  ") {
			evidence += lines[next]
			next++
		}
		if next < len(lines) && strings.HasPrefix(lines[next], "`") {
			wrong(next+1, "a line that continues another begins with two spaces")
		}
		rule := &rules[len(rules)-1]
		switch m[1] {
		case "Implemented in":
			rule.implemented = places(evidence)
		case "Shown by":
			rule.shown = places(evidence)
		}
	}
	for _, r := range rules {
		if len(r.implemented) == 0 {
			problems = append(problems, fmt.Sprintf("%s: %s names no file that implements it", document, r.id))
		}
		if len(r.shown) == 0 {
			problems = append(problems, fmt.Sprintf("%s: %s names no test that shows it", document, r.id))
		}
	}
	return rules, problems
}

// places are pairs of a path and a name in it: `pkg/a/b.go` `T.m`, `U`, `pkg/c` `TestX/y.txt`. A
// word without a slash or a dot belongs to the path before it.
func places(text string) (pairs [][2]string) {
	dir, named := "", true
	flush := func() {
		if dir != "" && !named {
			pairs = append(pairs, [2]string{dir, ""})
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		word := m[1]
		if isPath(word) {
			flush()
			dir, named = word, false
			continue
		}
		pairs, named = append(pairs, [2]string{dir, word}), true
	}
	flush()
	return pairs
}

func isPath(word string) bool {
	first, _, below := strings.Cut(word, "/")
	return below &&
		slices.Contains([]string{"pkg", "internal", "cmd", "tools", "bench", "docs", "examples", "test"}, first)
}

// declared returns the names that the files of a directory declare: functions, methods with and without
// their type, types, constants, variables.
func declared(files []source) map[string]bool {
	names := map[string]bool{}
	for _, s := range files {
		for name := range functionsOf(s) {
			names[name] = true
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch x := spec.(type) {
				case *ast.TypeSpec:
					names[x.Name.Name] = true
					fieldsOf(x, func(field string) { names[field], names[x.Name.Name+"."+field] = true, true })
				case *ast.ValueSpec:
					for _, id := range x.Names {
						names[id.Name] = true
					}
				}
			}
		}
	}
	return names
}

// fieldsOf yields the names of the fields of a struct and of the methods of an interface.
func fieldsOf(spec *ast.TypeSpec, yield func(string)) {
	var list *ast.FieldList
	switch x := spec.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			yield(id.Name)
		}
	}
}

// checkRule reports the names in a rule that do not exist.
func checkRule(r behaviourRule, byFile map[string]source, byDir map[string][]source) (problems []string) {
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s: ", r.document, r.id)+fmt.Sprintf(format, args...))
	}
	for _, at := range r.implemented {
		s, ok := byFile[at[0]]
		switch {
		case isStaticFile(at[0]) && at[1] == "":
		case !ok:
			wrong("there is no file %q", at[0])
		case at[1] != "" && !declared([]source{s})[at[1]]:
			wrong("%s declares no %s", at[0], at[1])
		}
	}
	for _, at := range r.shown {
		test, sub, _ := strings.Cut(at[1], "/")
		files := byDir[at[0]]
		switch {
		case len(files) == 0:
			wrong("there is no package %q", at[0])
		case !strings.HasPrefix(test, "Test") && !strings.HasPrefix(test, "Fuzz"):
			wrong("%q in %s is no test", at[1], at[0])
		case !slices.ContainsFunc(files, func(s source) bool { return s.isTest() && functionsOf(s)[test] }):
			wrong("%s has no test %s", at[0], test)
		case (strings.HasSuffix(sub, ".txt") || test == "TestTranscripts") &&
			!transcriptExists(at[0], strings.TrimSuffix(sub, ".txt")+".txt"):
			wrong("%s has no transcript %s", at[0], sub)
		}
	}
	return problems
}

// isStaticFile reports whether a path is a file of the web page that exists.
func isStaticFile(path string) bool {
	info, err := os.Stat(filepath.Join(root, path))
	return isBelow(path, "internal/server/webui/static") && err == nil && info.Mode().IsRegular()
}

func transcriptExists(dir, name string) bool {
	found, err := filepath.Glob(filepath.Join(root, dir, "testdata", "*", name))
	return err == nil && len(found) > 0
}

func behaviourRules(t *testing.T) []behaviourRule {
	t.Helper()
	documents, err := filepath.Glob(filepath.Join(root, "docs", "behaviour", "*.md"))
	assert.NilError(t, err)
	var all []behaviourRule
	for _, name := range documents {
		if filepath.Base(name) == "README.md" {
			continue
		}
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		rules, problems := rulesOf("docs/behaviour/"+filepath.Base(name), string(text))
		for _, p := range problems {
			t.Error(p)
		}
		all = append(all, rules...)
	}
	assert.Assert(t, len(all) > 200, "only %d rules: were the documents really read?", len(all))
	return all
}

func TestBehaviour_RulesNameFilesAndTestsThatExist(t *testing.T) {
	sources, err := allSources()
	assert.NilError(t, err)
	byFile, byDir := map[string]source{}, map[string][]source{}
	for _, s := range sources {
		byFile[s.path] = s
		byDir[s.dir()] = append(byDir[s.dir()], s)
	}
	seen := map[string]string{}
	for _, r := range behaviourRules(t) {
		if other, ok := seen[r.id]; ok {
			t.Errorf("%s is in %s and in %s", r.id, other, r.document)
		}
		seen[r.id] = r.document
		for _, p := range checkRule(r, byFile, byDir) {
			t.Error(p)
		}
	}
}

func TestBehaviour_CitedRulesExist(t *testing.T) {
	known := map[string]bool{}
	for _, r := range behaviourRules(t) {
		known[r.id] = true
	}
	sources, err := allSources()
	assert.NilError(t, err)

	for _, s := range sources {
		if s.path == "internal/testing/lint/behaviour_test.go" {
			continue
		}
		for _, group := range s.file.Comments {
			for _, id := range ruleCitation.FindAllString(group.Text(), -1) {

				if !known[id] {
					t.Error(s.problem(group, "cites %s, which is in no document of docs/behaviour", id))
				}
			}
		}
	}
}

// Documents cite rules that exist, too: the glossary leads from the words of the field to their numbers.
func TestBehaviour_RulesCitedInDocumentsExist(t *testing.T) {
	known := map[string]bool{}
	for _, r := range behaviourRules(t) {
		known[r.id] = true
	}
	cited := 0
	assert.NilError(t, filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, id := range ruleCitation.FindAllString(string(text), -1) {
			cited++
			if !known[id] {
				t.Errorf("%s cites %s, which is in no document of docs/behaviour", name, id)
			}
		}
		return err
	}))
	assert.Assert(t, cited > 1000, "only %d citations: were the documents really read?", cited)
}

// notInRepository are citations of documents that are not in the repository.
var notInRepository = regexp.MustCompile(`\b(?:behaviour|priority|users|architecture|performance|style)\.md ` +
	`[0-9P]|\bseed [0-9S]`)

func TestBehaviour_CommentsCiteWhatIsInTheRepository(t *testing.T) {
	sources, err := allSources()
	assert.NilError(t, err)
	for _, s := range sources {
		for _, group := range s.file.Comments {
			if m := notInRepository.FindString(group.Text()); m != "" {
				t.Error(s.problem(group, "cites %q, which is not in the repository", m))
			}
		}
	}
}

func TestBehaviour_FormOfRules(t *testing.T) {
	const good = "# Preemption\n\n### PRE-1 A victim has lower priority\nText.\n" +
		"- Implemented in: `pkg/a/b.go` `T.m`,\n  `U`,\n  `pkg/a/c.go`\n- Shown by: `pkg/a` `TestA/x.txt`\n"
	rules, problems := rulesOf("d.md", good)
	assert.DeepEqual(t, problems, []string(nil))
	assert.Equal(t, rules[0].title, "A victim has lower priority")
	assert.DeepEqual(t, rules[0].implemented, [][2]string{{"pkg/a/b.go", "T.m"}, {"pkg/a/b.go", "U"}, {"pkg/a/c.go", ""}})
	assert.DeepEqual(t, rules[0].shown, [][2]string{{"pkg/a", "TestA/x.txt"}})

	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a gap": {"### PRE-1 A\n- Implemented in: `pkg/a`\n- Shown by: `pkg/a` `TestA`\n### PRE-3 B\n- " +
			"Implemented in: `pkg/a`\n- Shown by: `pkg/a` `TestA`\n",
			[]string{"d.md:4: rule PRE-3 should be PRE-2: numbers follow each other"}},
		"another prefix": {"### PRE-1 A\n- Implemented in: `pkg/a`\n- Shown by: `pkg/a` `TestA`\n### QUO-2 B\n- " +
			"Implemented in: `pkg/a`\n- Shown by: `pkg/a` `TestA`\n",
			[]string{"d.md:4: rule QUO-2 should be PRE-2: numbers follow each other"}},
		"a continuation without spaces": {"### PRE-1 A\n- Implemented in: `pkg/a`\n- Shown by: `pkg/a` `TestA`,\n`TestB`\n",
			[]string{"d.md:4: a line that continues another begins with two spaces"}},
		"no number": {"### Victims\n", []string{`d.md:1: "### Victims" is no rule number and title`}},
		"no file, no test": {"### PRE-1 A\nText.\n",
			[]string{"d.md: PRE-1 names no file that implements it", "d.md: PRE-1 names no test that shows it"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := rulesOf("d.md", c.text)
			assert.DeepEqual(t, problems, c.want)
		})
	}
}

func TestBehaviour_WhatRulesNameIsLookedUp(t *testing.T) {
	code, err := parse("pkg/a/b.go", "package a\ntype T struct{}\nfunc (t *T) m() {}\nconst C = 1\n")
	assert.NilError(t, err)
	tests, err := parse("pkg/a/b_test.go", "package a\nfunc TestA() {}\n")
	assert.NilError(t, err)
	byFile := map[string]source{code.path: code, tests.path: tests}
	byDir := map[string][]source{"pkg/a": {code, tests}}
	for text, want := range map[string][]string{
		"- Implemented in: `pkg/a/b.go` `T.m`, `C`, `T`\n- Shown by: `pkg/a` `TestA`": nil,
		"- Implemented in: `pkg/a/c.go` `T`\n- Shown by: `pkg/a` `TestA`": {`d.md: PRE-1: there is no file ` +
			`"pkg/a/c.go"`},
		"- Implemented in: `pkg/a/b.go` `n`\n- Shown by: `pkg/a` `TestA`": {"d.md: PRE-1: pkg/a/b.go declares " +
			"no n"},
		"- Implemented in: `pkg/a/b.go`\n- Shown by: `pkg/a` `TestB`": {"d.md: PRE-1: pkg/a has no test TestB"},
		"- Implemented in: `pkg/a/b.go`\n- Shown by: `pkg/b` `TestA`": {`d.md: PRE-1: there is no package ` +
			`"pkg/b"`},
		"- Implemented in: `pkg/a/b.go`\n- Shown by: `pkg/a` `T.m`": {`d.md: PRE-1: "T.m" in pkg/a is no ` +
			`test`},
		"- Implemented in: `pkg/a/b.go`\n- Shown by: `pkg/a` `TestA/no.txt`": {"d.md: PRE-1: pkg/a has no " +
			"transcript no.txt"},
	} {
		rules, problems := rulesOf("d.md", "### PRE-1 A\n"+text+"\n")
		assert.DeepEqual(t, problems, []string(nil))
		assert.DeepEqual(t, checkRule(rules[0], byFile, byDir), want)
	}
}
