package queuesyaml

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// The parser reports where it stopped, often far from the mistake. After a parser error the
// text is searched for the most frequent mistakes (CFG-6).

// mistake is the probable cause of a parser error.
type mistake struct {
	validation.Position
	message, hint string
}

// likelyMistake finds the probable cause of a parser error at a line; nil: unknown.
func likelyMistake(text []byte, line int, message string) *mistake {
	lines := strings.Split(string(text), "\n")
	switch {
	case strings.Contains(message, "control characters"), strings.Contains(message, "UTF-8"):
		return nil
	case strings.Contains(message, "alphabetic or numeric character"):
		return firstMatch(lines, unquotedStar, "a * without quotes is no text: YAML takes it for an alias", "write '*'")
	}
	if m := findTab(lines, line, grammarError.MatchString(message)); m != nil {
		return m
	}
	if strings.Contains(message, "end of stream") {
		return findOpenQuote(lines)
	}
	if strings.Contains(message, "did not find expected ',' or") {
		return nil // within brackets, indentation has no meaning
	}
	if m := findIndentationMistake(lines); m != nil {
		return m
	}
	if strings.Contains(message, "could not find expected ':'") || strings.Contains(message, "mapping values") {
		// The parser also counts other line breaks than \n, so its line may be too large.
		from := min(max(0, line-2), len(lines))
		to := max(from, min(len(lines), line+1))
		return firstMatch(lines[from:to], missingSpace, "there is no space behind the colon",
			"write key: value").shiftLines(from)
	}
	return nil
}

var (
	unquotedStar = regexp.MustCompile(`[:,\[-]\s*(\*)\s*(?:[,\]}#]|$)`)
	missingSpace = regexp.MustCompile(`^\s*(?:- )?[a-zA-Z.]+(:)[^\s:/]`)
)

// templateAction begins an action of a template of Helm, outside of a comment.
var templateAction = regexp.MustCompile(`(?m)^[^#\n]*?(\{\{-?[ \t]*[.$"a-z(])`)

// explainTemplate returns the errors of a text that is a template as one error, at its first action (CFG-6): it was not
// rendered, so the other errors mean nothing. Requires: problems has errors.
func explainTemplate(text []byte, problems validation.Problems) validation.Problems {
	m := templateAction.FindSubmatchIndex(text)
	if m == nil {
		return problems
	}
	above := text[:m[2]]
	line := above[bytes.LastIndexByte(above, '\n')+1:]
	return validation.Problems{{
		Line: 1 + bytes.Count(above, []byte("\n")), Col: 1 + utf8.RuneCount(line),
		RuleID: "yaml-syntax", Severity: validation.Error, Message: "the text is a template, which was not rendered",
		Hint: `render it first, for example with "helm template", and read the result`,
	}}
}

// firstMatch is a mistake at the group of the first match of x. Requires: x has one group.
func firstMatch(lines []string, x *regexp.Regexp, message, hint string) *mistake {
	for i, line := range lines {
		if m := x.FindStringSubmatchIndex(line); m != nil {
			return &mistake{validation.At(i+1, 1+len([]rune(line[:m[2]]))), message, hint}
		}
	}
	return nil
}

func (m *mistake) shiftLines(lines int) *mistake {
	if m != nil {
		m.Line += lines
	}
	return m
}

// findTab finds a tab in the indentation of a line next to the line of the parser error or, with
// anywhere, of any line.
func findTab(lines []string, near int, anywhere bool) *mistake {
	for i, line := range lines {
		if !anywhere && (i+1 < near-1 || i+1 > near+1) {
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t-"))]
		if col := strings.IndexByte(indent, '\t'); col >= 0 && len(indent) < len(line) {
			return &mistake{validation.At(i+1, col+1), "the line is indented with a tab",
				"YAML allows only spaces for indentation"}
		}
	}
	return nil
}

// findOpenQuote finds the line with a quote that is not closed.
func findOpenQuote(lines []string) *mistake {
	for i, line := range lines {
		code, _, _ := strings.Cut(line, " #")
		for _, quotation := range []string{"'", `"`} {
			if strings.Count(code, quotation)%2 == 1 {
				return &mistake{validation.At(i+1, 1+len([]rune(code[:strings.Index(code, quotation)]))),
					"the text in quotes that begins here has no end", "add a " + quotation}
			}
		}
	}
	return nil
}

// findIndentationMistake finds the first line that is not indented to the column of an open block.
func findIndentationMistake(lines []string) *mistake {
	var open []int  // the columns of the open blocks, from 0
	mayNest := true // the line above may be followed by a deeper block
	block := -1     // column of the key of the current block scalar; deeper lines belong to it. -1: none
	for i, line := range lines {
		code := strings.TrimLeft(line, " ")
		column := len(line) - len(code)
		if strings.TrimSpace(code) == "" || code[0] == '#' || block >= 0 && column > block {
			continue
		}
		block = -1
		deeper := len(open) == 0 || column > open[len(open)-1]
		for len(open) > 0 && open[len(open)-1] > column {
			open = open[:len(open)-1]
		}
		here := validation.At(i+1, column+1)
		switch {
		case deeper && !mayNest && (isKey(code) || strings.HasPrefix(code, "- ")):
			return &mistake{here, "the line is indented further than the one above, which has a value already",
				"begin it in column " + columns(open)}
		case deeper && !mayNest:
			continue // a continued plain scalar
		case !deeper && (len(open) == 0 || open[len(open)-1] != column):
			return &mistake{here, "the line is indented to no open block",
				fmt.Sprintf("it begins in column %d; the open blocks begin in column %s", column+1, columns(open))}
		case deeper:
			open = append(open, column)
		}
		for strings.HasPrefix(code, "- ") { // a dash opens a block of its own
			inner := strings.TrimLeft(code[1:], " ")
			column += len(code) - len(inner)
			code = inner
			if isKey(code) || strings.HasPrefix(code, "- ") {
				open = append(open, column)
			}
		}
		code, _, _ = strings.Cut(code, " #")
		code = strings.TrimRight(code, " \r")
		if strings.Count(code, "[")+strings.Count(code, "{") > strings.Count(code, "]")+strings.Count(code, "}") {
			return nil // within brackets, indentation has no meaning
		}
		mayNest = code == "-" || strings.HasSuffix(code, ":")
		if blockScalarStart.MatchString(code) {
			block = open[len(open)-1]
		}
	}
	return nil
}

var (
	blockScalarStart = regexp.MustCompile(`(: |^)[|>][0-9+-]*$`)
	keyStart         = regexp.MustCompile(`^[^\s:'"\[{-][^:]*:( |$)`)
)

func isKey(s string) bool { return keyStart.MatchString(s) }

// columns lists the columns of the innermost open blocks: "3 or 5".
func columns(open []int) string {
	if len(open) == 0 {
		return "1"
	}
	var words []string
	for _, c := range open[max(0, len(open)-3):] { // the innermost ones
		if w := fmt.Sprint(c + 1); len(words) == 0 || words[len(words)-1] != w {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}
