package main

import (
	"regexp"
	"strconv"
	"strings"
)

// step is a command with its expected output.
type step struct {
	line    int      // of the file, from 1
	command string   // may have several lines
	exit    int      // its exit code
	prints  []string // its output, with wildcards; nil: anything
}

// inBackground reports whether the command runs in the background.
func (s step) inBackground() bool {
	return strings.HasSuffix(strings.TrimSpace(comment.ReplaceAllString(s.command, "")), "&")
}

var (
	comment  = regexp.MustCompile(`\s#[^\n]*$`)
	exitCode = regexp.MustCompile(`# exit code (\d+)`)
)

// extract finds the steps of a Markdown file.
func extract(text string) (steps []step) {
	inside, more := false, false
	for i, line := range strings.Split(text, "\n") {
		last := len(steps) - 1
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside, more = !inside && strings.TrimSpace(line) == "```console", false
		case !inside:
		case more:
			steps[last].command += "\n" + line
			more = strings.HasSuffix(line, `\`)
		case isCommand:
			steps = append(steps, step{line: i + 1, command: command})
			more = strings.HasSuffix(command, `\`)
		case last >= 0:
			steps[last].prints = append(steps[last].prints, line)
		}
	}
	for i := range steps {
		if m := exitCode.FindStringSubmatch(steps[i].command); m != nil {
			steps[i].exit, _ = strconv.Atoi(m[1]) // the digits of the pattern
		}
		steps[i].prints = trim(steps[i].prints)
	}
	return steps
}

// trim removes empty lines at both ends, and spaces at the end of lines.
func trim(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.TrimRight(line, " \t\r"))
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// matches reports whether an output matches what is shown.
func matches(shown []string, output string) bool {
	var b strings.Builder
	b.WriteString(`^`)
	for _, line := range shown {
		if line == "..." {
			b.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), regexp.QuoteMeta("..."), `[^\n]*`) + `\n`)
	}
	b.WriteString(`$`)
	lines := trim(strings.Split(output, "\n"))
	text := strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	return regexp.MustCompile(b.String()).MatchString(text)
}
