package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// loggedLine is a call of a logger in the code, or an item of docs/LOGGING.md.
type loggedLine struct {
	level, message string
	fields         []string // of a call, those that are written in it
	where          string
}

func (l loggedLine) String() string { return l.level + " " + strconv.Quote(l.message) }

// levels are the methods of a logger.
var levels = map[string]string{"Debug": "debug", "Info": "info", "Warn": "warn", "Error": "error", "Panic": "panic",
	"Fatal": "fatal"}

// logCalls finds the calls of loggers below a directory. A logger is an expression whose last name is
// log, in any case. The message of a call that has no literal is empty.
func logCalls(t *testing.T, root string) (lines []loggedLine) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if line, found := logCall(n); found {
				line.where = files.Position(n.Pos()).String()
				lines = append(lines, line)
			}
			return true
		})
		return nil
	})
	assert.NilError(t, err)
	return lines
}

func logCall(n ast.Node) (line loggedLine, found bool) {
	if entry, ok := n.(*ast.CompositeLit); ok {
		return logEntry(entry)
	}
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return line, false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.EqualFold(lastName(method.X), "log") {
		return line, false
	}
	args := call.Args
	switch level, plain := levels[method.Sel.Name]; {
	case plain:
		line.level = level
	case method.Sel.Name == "Check" && len(args) == 2:
		line.level = strings.ToLower(strings.TrimSuffix(lastName(args[0]), "Level"))
		args = args[1:]
	case method.Sel.Name == "Log":
		line.level = "varies"
		args = args[1:]
	default:
		return line, false
	}
	line.message = textOf(args[0])
	for _, arg := range args[1:] {
		ast.Inspect(arg, func(n ast.Node) bool {
			if field, ok := n.(*ast.CallExpr); ok && len(field.Args) > 0 {
				if f, ok := field.Fun.(*ast.SelectorExpr); ok && lastName(f.X) == "zap" {
					name := textOf(field.Args[0])
					if f.Sel.Name == "Error" {
						name = "error"
					}
					line.fields = append(line.fields, name)
				}
			}
			return true
		})
	}
	return line, true
}

// logEntry reads a line that is written without a logger, as a zapcore.Entry.
func logEntry(entry *ast.CompositeLit) (line loggedLine, found bool) {
	if lastName(entry.Type) != "Entry" {
		return line, false
	}
	for _, e := range entry.Elts {
		if field, ok := e.(*ast.KeyValueExpr); ok {
			switch lastName(field.Key) {
			case "Level":
				line.level = strings.ToLower(strings.TrimSuffix(lastName(field.Value), "Level"))
			case "Message":
				line.message = textOf(field.Value)
			}
		}
	}
	return line, line.message != ""
}

func lastName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// textOf returns the text of a string literal or of several that are added; empty: the expression is neither.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	}
	return ""
}

// TestLoggingDoc_HasEveryRejectionKind compares the list of kinds with the code.
func TestLoggingDoc_HasEveryRejectionKind(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "LOGGING.md"))
	assert.NilError(t, err)
	code, err := os.ReadFile(filepath.Join(moduleRoot, "pkg", "scheduler", "rejection.go"))
	assert.NilError(t, err)
	kinds := regexp.MustCompile(`(?m)^\tRejected\w+ +Rejection = "([a-z-]+)"`).FindAllStringSubmatch(string(code), -1)
	assert.Equal(t, len(kinds), 11)
	for _, kind := range kinds {
		assert.Check(t, strings.Contains(string(text), "`"+kind[1]+"`"), "docs/LOGGING.md does not have the kind %s", kind[1])
	}
}

var (
	documentedLevel = regexp.MustCompile(`^(\w+):$`)
	documentedItem  = regexp.MustCompile("^- `([^`]+)`(?: \\(([^)]*)\\))?")
	quotedName      = regexp.MustCompile("`([^`]+)`")
)

// unlistedFields are in many lines, and not listed for each.
var unlistedFields = []string{"", "partition", "rm", "node", "application", "queue", "key", "priority"}

// documentedLines returns the lines that docs/LOGGING.md lists by their levels.
func documentedLines(t *testing.T) (rows []loggedLine) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "LOGGING.md"))
	assert.NilError(t, err)
	level := ""
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\n  ", " "), "\n") {
		if m := documentedLevel.FindStringSubmatch(line); m != nil {
			level = m[1]
			continue
		}
		m := documentedItem.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		row := loggedLine{level: level, message: m[1]}
		for _, f := range quotedName.FindAllStringSubmatch(m[2], -1) {
			row.fields = append(row.fields, f[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// TestLoggingDoc_HasEveryMessage compares the lists of docs/LOGGING.md with the code that serve
// runs: each message is listed with its level and its fields, and each listed one is logged.
func TestLoggingDoc_HasEveryMessage(t *testing.T) {
	var calls []loggedLine
	for _, dir := range []string{
		"cmd/core", "internal/server/auth", "internal/server/configwatch", "internal/server/effectlog",
		"internal/server/engine", "internal/server/httpserver",
		"internal/server/logging", "internal/server/loop",
		"internal/server/reload", "internal/server/usage", "internal/server/usergroup", "pkg",
	} {
		calls = append(calls, logCalls(t, filepath.Join(moduleRoot, dir))...)
	}
	rows := documentedLines(t)
	assert.Assert(t, len(calls) >= 60, "only %d calls were found", len(calls))
	for _, c := range calls {
		assert.Check(t, c.message != "", "%s: the message is not a literal", c.where)
		i := slices.IndexFunc(rows, func(r loggedLine) bool { return r.level == c.level && r.message == c.message })
		if i < 0 {
			t.Errorf("%s: docs/LOGGING.md does not list %s", c.where, c)
			continue
		}
		for _, f := range c.fields {
			found := slices.Contains(unlistedFields, f) || slices.Contains(rows[i].fields, f)
			assert.Check(t, found, "%s: %s is listed without its field %s", c.where, c, f)
		}
	}
	for _, r := range rows {
		logged := slices.ContainsFunc(calls, func(c loggedLine) bool { return r.level == c.level && r.message == c.message })
		assert.Check(t, logged, "docs/LOGGING.md lists %s, which no code logs", r)
	}
}
