package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// relativeLink is a link of a document to a file of the repository.
var relativeLink = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// codeFile is a file of the repository that a document names by its path.
var codeFile = regexp.MustCompile(
	"`((?:cmd|internal|pkg|test|tools|bench|kubernetes|examples)/[\\w./-]+\\.(?:go|js|sh|txt|md))`")

// brokenLinks reports the files that a document links to or names, and that do not exist.
func brokenLinks(name, text string, exists func(name string) bool) (problems []string) {
	for i, line := range strings.Split(text, "\n") {
		for _, m := range relativeLink.FindAllStringSubmatch(line, -1) {
			if to := path.Join(path.Dir(name), m[1]); !exists(to) {
				problems = append(problems, fmt.Sprintf("%s:%d: the link leads to %s, which does not exist", name, i+1, to))
			}
		}
		for _, m := range codeFile.FindAllStringSubmatch(line, -1) {
			if !exists(m[1]) {
				problems = append(problems, fmt.Sprintf("%s:%d: there is no file %s", name, i+1, m[1]))
			}
		}
	}
	return problems
}

// ADRs and the changelog name files of their time, but their links must lead somewhere.
func TestDocuments_LinksLeadToFiles(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	eachDocument(t, func(name, text string) {
		if path.Dir(name) == "docs/adr" || name == "CHANGELOG.md" {
			text = codeFile.ReplaceAllString(text, "")
		}
		for _, problem := range brokenLinks(name, text, exists) {
			t.Error(problem)
		}
	})
}

func TestBrokenLinks_Examples(t *testing.T) {
	exists := func(name string) bool { return name == "docs/a.md" || name == "pkg/x.go" }
	assert.DeepEqual(t, brokenLinks("docs/b.md", "[a](a.md) [a](a.md#part) [web](https://a.b/c) `pkg/x.go`", exists),
		[]string(nil))
	assert.DeepEqual(t, brokenLinks("docs/b.md", "x\n[c](../c.md) `pkg/y.go`", exists), []string{
		"docs/b.md:2: the link leads to c.md, which does not exist", "docs/b.md:2: there is no file pkg/y.go"})
}
