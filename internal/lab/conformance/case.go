package conformance

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Case is a transcript of a resource manager and a scheduler.
type Case struct {
	Name   string // subject/what
	Demand string // what it demands, in one sentence or two
	Source string // the rules or the section of the documentation that say so
	// Feature names something that an endpoint may lack: one of Features. Empty: the scheduler interface promises it.
	Feature string
	steps   []step
}

// Text returns the messages of c as text, one a line.
func (c *Case) Text() string {
	var text strings.Builder
	for _, s := range c.steps {
		text.WriteString(s.body + "\n")
	}
	return text.String()
}

// step is a line of a transcript.
type step struct {
	file   string
	line   int
	kind   stepKind
	method string // of the gRPC service
	body   string // JSON of the message, or the code of an error
}

type stepKind int

const (
	send        stepKind = iota // -> METHOD JSON
	receive                     // <- METHOD JSON: these elements, in any order
	receiveCode                 // <- METHOD error CODE: the call or stream ends with the code
	openStreams                 // -- open: opens all three streams anew
	sendLegacy                  // => JSON: asks of the interface 1.5
)

// Features returns the features that a case may require and the scheduler interface does not promise: "canopy" is about
// what Canopy reads in tags and attributes of its own, and its service of hints.
func Features() []string { return []string{"canopy"} }

//go:embed cases/*.txt
var caseFiles embed.FS

// configuration is the queues.yaml that all cases are written for. The resource manager sends it when it registers.
//
//go:embed cases/queues.yaml
var configuration string

// Cases returns all cases, by subject.
func Cases() []Case {
	files, err := caseFiles.ReadDir("cases")
	if err != nil {
		panic("conformance: " + err.Error())
	}
	var all []Case
	for _, f := range files {
		name := path.Join("cases", f.Name())
		text, err := caseFiles.ReadFile(name)
		if err != nil {
			panic("conformance: " + err.Error())
		}
		cases, err := parse(f.Name(), string(text))
		if err != nil {
			panic("conformance: " + err.Error())
		}
		all = append(all, cases...)
	}
	return all
}

// vcores is the short form of a resource in a transcript, and padded the form of a name that each case has for itself.
var (
	vcores  = regexp.MustCompile(`vcore\((-?\d+)\)`)
	stepped = regexp.MustCompile(`^(->|<-|=>|--) (\S+)(?: (.*))?$`)
)

// parse reads the cases of a file. A case begins with "case NAME"; "demands:", "source:" and, where there is one,
// "feature:" follow, then the steps. A line that begins with a space continues the one before. $ is replaced by the
// name of the case, so that cases do not share names of nodes, applications and allocations.
func parse(file, text string) (cases []Case, err error) {
	var lines []step
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " ") && len(lines) > 0:
			lines[len(lines)-1].body += " " + strings.TrimSpace(line)
		default:
			lines = append(lines, step{file: file, line: i + 1, body: strings.TrimSpace(line)})
		}
	}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line.body, " ")
		switch {
		case word == "case":
			cases = append(cases, Case{Name: strings.TrimSuffix(file, ".txt") + "/" + rest})
			continue
		case len(cases) == 0:
			return nil, fmt.Errorf("%s:%d: a file begins with a case", file, line.line)
		}
		c := &cases[len(cases)-1]
		switch word {
		case "demands:":
			c.Demand = rest
		case "source:":
			c.Source = rest
		case "feature:":
			if !slices.Contains(Features(), rest) {
				return nil, fmt.Errorf("%s:%d: there is no feature %q", file, line.line, rest)
			}
			c.Feature = rest
		default:
			s, err := parseStep(line, c.Name)
			if err != nil {
				return nil, err
			}
			c.steps = append(c.steps, s)
		}
	}
	return cases, nil
}

func parseStep(line step, caseName string) (step, error) {
	m := stepped.FindStringSubmatch(line.body)
	if m == nil {
		return line, fmt.Errorf("%s:%d: %q is no step", line.file, line.line, line.body)
	}
	arrow, word, rest := m[1], m[2], m[3]
	line.method = word
	line.body = vcores.ReplaceAllString(rest, `{"resources": {"vcore": {"value": $1}}}`)
	line.body = strings.ReplaceAll(line.body, "$", "-"+path.Base(caseName))
	code, isCode := strings.CutPrefix(line.body, "error ")
	switch {
	case arrow == "--" && word == "open":
		line.kind = openStreams
		return line, nil
	case arrow == "=>" && word == "asks":
		line.kind, line.method = sendLegacy, updateAllocation
		return line, nil
	case !slices.Contains(methods, word):
		return line, fmt.Errorf("%s:%d: %q is no method", line.file, line.line, word)
	case arrow == "->":
		line.kind = send
	case arrow == "<-" && isCode:
		line.kind, line.body = receiveCode, code
	case arrow == "<-":
		line.kind = receive
	default:
		return line, fmt.Errorf("%s:%d: %s %s is no step", line.file, line.line, arrow, word)
	}
	return line, nil
}
