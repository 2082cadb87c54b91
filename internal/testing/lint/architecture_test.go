package lint

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// checkout holds what the tables of docs/ARCHITECTURE.md and docs/MAP.md can name.
type checkout struct {
	files       []string            // from the top of the checkout
	directories []string            // the same, without Go files or with them
	packages    map[string]bool     // directories with Go files
	names       map[string][]string // what a package declares, to its directories; methods and fields also with their type
	tests       []string
	makeTargets map[string]bool
}

func readCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{packages: map[string]bool{}, names: map[string][]string{}, makeTargets: map[string]bool{}}
	assert.NilError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" && d.IsDir() { // a file in a linked work tree
			return cmp.Or(err, filepath.SkipDir)
		}
		rel, err := filepath.Rel(root, name)
		if d.IsDir() {
			c.directories = append(c.directories, filepath.ToSlash(rel))
		} else {
			c.files = append(c.files, filepath.ToSlash(rel))
		}
		return err
	}))
	sources, err := allSources()
	assert.NilError(t, err)
	byDir := map[string][]source{}
	for _, s := range sources {
		c.packages[s.dir()] = true
		if s.isTest() {
			for name := range functionsOf(s) {
				c.tests = append(c.tests, name)
			}
			continue
		}
		byDir[s.dir()] = append(byDir[s.dir()], s)
	}
	for dir, files := range byDir {
		for name := range declared(files) {
			c.names[name] = append(c.names[name], dir)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	assert.NilError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllSubmatch(text, -1) {
		c.makeTargets[string(m[1])] = true
	}
	return c
}

// below returns the files, or directories of packages, whose path ends with a pattern.
func below(paths []string, pattern string) (found []string) {
	depth := strings.Count(pattern, "/") + 1
	for _, p := range paths {
		elements := strings.Split(p, "/")
		if len(elements) < depth {
			continue
		}
		if ok, err := path.Match(pattern, path.Join(elements[len(elements)-depth:]...)); ok && err == nil {
			found = append(found, p)
		}
	}
	return found
}

func (c *checkout) packagesAt(pattern string) []string {
	var all []string
	for dir := range c.packages {
		all = append(all, dir)
	}
	return below(all, pattern)
}

// isThere reports whether what a row names exists: a package, a file, a transcript, a test, a target of make, or what a
// package declares. A file without a directory must be in one of the packages that the row has named so far; place is
// what the word adds to them.
func (c *checkout) isThere(word string, row []string) (ok bool, place []string) {
	target, isMake := strings.CutPrefix(word, "make ")
	switch {
	case isMake:
		return c.makeTargets[target], nil
	case strings.HasSuffix(word, ".go"):
		found := below(c.files, word)
		if !strings.Contains(word, "/") {
			found = slices.DeleteFunc(found, func(f string) bool { return !slices.Contains(row, path.Dir(f)) })
		}
		for _, f := range found {
			place = append(place, path.Dir(f))
		}
		return len(found) > 0, place
	case strings.HasSuffix(word, ".txt"):
		return len(below(c.files, word)) > 0, nil
	case strings.HasPrefix(word, "Test"):
		return slices.ContainsFunc(c.tests,
			func(name string) bool { ok, err := path.Match(word, name); return ok && err == nil }), nil
	}
	if dirs := c.packagesAt(word); len(dirs) > 0 {
		return true, dirs
	}
	if strings.Contains(word, "/") && len(below(c.directories, word)) > 0 {
		return true, nil
	}
	if len(c.names[word]) > 0 {
		return true, nil
	}
	pkg, name, qualified := strings.Cut(word, ".")
	return qualified && slices.ContainsFunc(c.names[name], func(dir string) bool { return path.Base(dir) == pkg }), nil
}

// Every package, file, type, test and transcript that a table of docs/ARCHITECTURE.md or docs/MAP.md names
// exists.
func TestArchitecture_TablesNameWhatExists(t *testing.T) {
	architecture, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	assert.NilError(t, err)
	features, err := os.ReadFile(filepath.Join(root, "docs", "MAP.md"))
	assert.NilError(t, err)
	_, tables, found := strings.Cut(string(architecture), "\n## Packages\n")
	assert.Assert(t, found)
	tables += string(features)
	c := readCheckout(t)
	n := 0
	for _, row := range regexp.MustCompile(`(?m)^\| .*$`).FindAllString(tables, -1) {
		var packages []string
		for _, m := range quoted.FindAllStringSubmatch(row, -1) {
			n++
			ok, place := c.isThere(m[1], packages)
			packages = append(packages, place...)
			if !ok {
				t.Errorf("%q is not there, in the row %.90s", m[1], row)
			}
		}
	}
	assert.Assert(t, n > 300, "only %d names: were the tables really read?", n)
}

func TestArchitecture_WhatTablesNameIsLookedUp(t *testing.T) {
	c := &checkout{
		files:       []string{"pkg/a/b.go", "pkg/c/d.go", "pkg/a/testdata/transcripts/x_y.txt"},
		packages:    map[string]bool{"pkg/a": true, "pkg/c": true},
		names:       map[string][]string{"T": {"pkg/a"}, "T.m": {"pkg/a"}},
		tests:       []string{"TestA_One"},
		makeTargets: map[string]bool{"demo": true},
	}
	for _, word := range []string{"a", "pkg/c", "a/b.go", "d.go", "x_*.txt", "T", "T.m", "a.T", "TestA_*", "make demo"} {
		ok, _ := c.isThere(word, []string{"pkg/c"})
		assert.Check(t, ok, word)
	}
	for _, word := range []string{"b", "a/c.go", "b.go", "z*.txt", "m", "c.T", "TestB_*", "make it"} {
		ok, _ := c.isThere(word, []string{"pkg/c"})
		assert.Check(t, !ok, word)
	}
}
