package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a document with the problem is refused.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // the document is refused
	Warning                 // it loads, but may not do what its author expects
)

func (s Severity) String() string { return [...]string{"error", "warning"}[s] }

// Problem is one thing wrong with a document, at its place.
type Problem struct {
	Line, Col     int    // from 1; columns count characters
	Path          string // the queue, placement rule or partition; empty: the document itself
	RuleID        string // one of Rules
	Severity      Severity
	Message, Hint string // Hint may be empty
}

// String is "line:col: error [V6] root.a: message (hint: ...)".
func (p Problem) String() string { return fmt.Sprintf("%d:%d: %s", p.Line, p.Col, p.text()) }

// WithFile is String with the name of the file in front, as compilers print it.
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

// Problems are all problems of a document, ordered by line, column and rule. They
// make an error, but a document is only refused if HasErrors.
type Problems []Problem

// Error has one problem a line.
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

// Errors are the problems for which the document is refused.
func (p Problems) Errors() Problems { return p.only(Error) }

// Warnings are the problems that do not keep the document from loading.
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

// subject is what a problem is about: it knows the path that people find it by.
type subject interface{ path() string }

// maxProblems bounds how many problems of one severity are listed. A text can have one in every
// other byte, and finding all of 8 MiB took seconds and a gigabyte.
const maxProblems = 1_000

// report collects problems.
type report struct {
	problems    Problems
	counts      [2]int // by severity, those that are not listed included
	stopAtLimit bool   // untilErrorLimit is called
}

// errorLimitReached is what add panics with, below untilErrorLimit, when there are errors enough.
type errorLimitReached struct{}

// add notes a problem. A nil owner is the document itself; an empty hint is none. After the
// last error that is listed it ends untilErrorLimit.
func (r *report) add(o subject, where position, rule, message, hint string) {
	severity := severityOf(rule)
	if r.counts[severity]++; r.counts[severity] > maxProblems {
		if severity == Error && r.stopAtLimit {
			panic(errorLimitReached{})
		}
		return
	}
	p := Problem{
		Line: max(where.line, 1), Col: max(where.col, 1),
		RuleID: rule, Severity: severity, Message: message, Hint: hint,
	}
	if o != nil {
		p.Path = o.path()
	}
	r.problems = append(r.problems, p)
}

// limitReached reports whether there are so many problems of the severity of a rule already that one more
// would not be listed. It is counted then, and its message need not be made: making a million
// messages that are not listed took longer than all else. Only for warnings; errors end the reading.
func (r *report) limitReached(rule string) bool {
	if severity := severityOf(rule); severity == Warning && r.counts[severity] >= maxProblems {
		r.counts[severity]++
		return true
	}
	return false
}

// untilErrorLimit does what finds problems, until there are too many errors.
func (r *report) untilErrorLimit(find func()) {
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

// sorted returns the problems in the order that Load promises. It ends in the
// message, so the order in which they were found cannot be seen.
func (r *report) sorted() Problems {
	more := func(message string, x ...any) {
		r.problems = append(r.problems, Problem{
			Line: 1, Col: 1, RuleID: "bound-problems", Severity: Warning, Message: fmt.Sprintf(message, x...),
		})
	}
	if r.counts[Error] > maxProblems {
		more("there are more than %d errors: the document was not checked further", maxProblems)
	}
	if n := r.counts[Warning]; n > maxProblems {
		more("there are %d warnings, of which %d are listed", n, maxProblems)
	}
	slices.SortFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.RuleID, b.RuleID),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(r.problems)
}
