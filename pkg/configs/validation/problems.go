package validation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Severity is whether a document with the problem is refused.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // the document is refused
	Warning                 // the document loads, but probably does not mean what was intended (CFG-72)
)

func (s Severity) String() string { return [...]string{"error", "warning"}[s] }

// MarshalText writes the word of the severity.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the output of MarshalText. Another word is an error.
func (s *Severity) UnmarshalText(text []byte) error {
	for *s = range Warning + 1 {
		if s.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("severity %q is neither error nor warning", text)
}

// Problem is one error or warning of a document, with its position (CFG-12). Its JSON names are a public interface.
type Problem struct {
	Line     int      `json:"line"`   // from 1
	Col      int      `json:"column"` // from 1, in characters
	Path     string   `json:"path"`   // the queue, placement rule or partition; empty: the document itself
	RuleID   string   `json:"rule"`   // the ID of one of Rules
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint"` // may be empty
}

// String is "line:col: error [V6] root.a: message (hint: ...)".
func (p Problem) String() string { return fmt.Sprintf("%d:%d: %s", p.Line, p.Col, p.text()) }

// WithFile is String after the name of the file, as compilers print it.
func (p Problem) WithFile(file string) string { return file + ":" + p.String() }

func (p Problem) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s] ", p.Severity, p.RuleID)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (hint: " + p.Hint + ")")
	}
	return b.String()
}

// Problems are all problems of a document, ordered by line, column and rule. Problems
// implement error, but the document is refused only if HasErrors.
type Problems []Problem

// Error has one line per problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// HasErrors reports whether the document is refused.
func (p Problems) HasErrors() bool {
	return slices.ContainsFunc(p, func(x Problem) bool { return x.Severity == Error })
}

// MarshalJSON writes a list, an empty one for nil.
func (p Problems) MarshalJSON() ([]byte, error) {
	list := []Problem(p)
	if list == nil {
		list = []Problem{}
	}
	return json.Marshal(list)
}

// Errors are the problems with severity Error.
func (p Problems) Errors() Problems { return p.only(Error) }

// Warnings are the problems with severity Warning.
func (p Problems) Warnings() Problems { return p.only(Warning) }

func (p Problems) only(s Severity) Problems {
	var out Problems
	for _, x := range p {
		if x.Severity == s {
			out = append(out, x)
		}
	}
	return out
}

// Merged returns the problems for a reader: equal warnings about different queues are one, the first, with the lines of
// the others (CFG-83). Errors stay apart: each has to be mended.
func (p Problems) Merged() Problems {
	type text struct{ rule, message, hint string }
	found := map[text]*occurrences{}
	var out Problems
	for _, x := range p {
		key := text{x.RuleID, x.Message, x.Hint}
		first := found[key]
		if x.Severity == Error || first == nil {
			out = append(out, x)
		}
		if x.Severity == Error {
			continue
		}
		if first == nil {
			first = &occurrences{}
			found[key] = first
		}
		first.add(nil, "", At(x.Line, x.Col))
	}
	for i, x := range out {
		if x.Severity == Warning {
			out[i].Message += found[text{x.RuleID, x.Message, x.Hint}].furtherLines()
		}
	}
	return out
}

// MaxProblems bounds how many problems of one severity are listed (CFG-17). A text can have one in
// every other byte, and finding all of 8 MiB took seconds and a gigabyte.
const MaxProblems = 1_000

// Report collects problems.
type Report struct {
	Sources
	Problems    Problems
	uses        resourceUses
	counts      [2]int // by severity, problems that are not listed included
	stopAtLimit bool   // true during UntilErrorLimit

	Yield func() // called every few values; see queuesyaml.Options
}

// errorLimitReached is the value with which add panics, during UntilErrorLimit, after MaxProblems errors.
type errorLimitReached struct{}

// Add adds a problem. A nil subject is the document itself; an empty hint is none. After
// MaxProblems errors it ends UntilErrorLimit by a panic.
func (r *Report) Add(o *Subject, where Position, rule, message, hint string) {
	severity := severityOf(rule)
	r.counts[severity]++
	if r.counts[severity] > MaxProblems {
		if severity == Error && r.stopAtLimit {
			panic(errorLimitReached{})
		}
		return
	}
	p := Problem{
		Line: max(where.Line, 1), Col: max(where.Col, 1),
		Path: o.path(), RuleID: rule, Severity: severity, Message: message, Hint: hint,
	}
	r.Problems = append(r.Problems, p)
}

// LimitReached reports whether a further warning of a rule would not be listed, and counts it in that
// case. The caller need not make its message: making a million messages that are not listed took
// longer than all else. It is false for errors, which end the reading at their limit.
func (r *Report) LimitReached(rule string) bool {
	if severity := severityOf(rule); severity == Warning && r.counts[severity] >= MaxProblems {
		r.counts[severity]++
		return true
	}
	return false
}

// ErrorCount is the number of errors so far.
func (r *Report) ErrorCount() int { return r.counts[Error] }

// UntilErrorLimit calls find, and returns early when there are too many errors.
func (r *Report) UntilErrorLimit(find func()) {
	r.stopAtLimit = true
	defer func() {
		r.stopAtLimit = false
		if p := recover(); p != nil {
			if _, ok := p.(errorLimitReached); !ok {
				panic(p)
			}
		}
	}()
	find()
}

// Sorted returns the problems in the order of Problems. The last key is the message, so the
// result does not depend on the order in which problems were found.
func (r *Report) Sorted() Problems {
	more := func(message string, x ...any) {
		r.Problems = append(r.Problems, Problem{
			Line: 1, Col: 1, RuleID: "bound-problems", Severity: Warning, Message: fmt.Sprintf(message, x...),
		})
	}
	if r.counts[Error] > MaxProblems {
		more("there are more than %d errors: the document was not checked further", MaxProblems)
	}
	if n := r.counts[Warning]; n > MaxProblems {
		more("there are %d warnings, of which %d are listed", n, MaxProblems)
	}
	slices.SortFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.RuleID, b.RuleID),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(r.Problems)
}
