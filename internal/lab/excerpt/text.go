package excerpt

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

// The text of an excerpt: comments, what the Core is made with, the refusals of the Oracle, and the steps with their
// effects.
//
//	begin {"options":...}
//
//	refuses "ask" "node"
//
//	2026-11-27T10:00:00Z submit-ask {"ask":...}
//	    allocated k (a) on n
const (
	beginWord   = "begin"
	refusesWord = "refuses"
	answersWord = "answers"
	scheduled   = "schedule"
	indent      = "    "
)

// errBothAnswers is the error of a text with answers that are the same whenever the Oracle is asked, and others of a
// step.
var errBothAnswers = fmt.Errorf("%s and %s exclude each other", answersWord, refusesWord)

// errNotUTF8 is the error of an excerpt that has no text.
var errNotUTF8 = errors.New("names that are no UTF-8")

// Write writes the text of an excerpt with the effects that it has now. The error may be that a name is no UTF-8.
func (e *Excerpt) Write(w io.Writer) error {
	made, err := e.Replay()
	if err != nil {
		return err
	}
	begin, err := recording.DecodeBegin(e.begin)
	if err != nil {
		return err
	}
	text, exact := recording.BeginText(begin)
	if !exact {
		return fmt.Errorf("the configuration has %w", errNotUTF8)
	}
	var b bytes.Buffer
	b.WriteString(beginWord + " ")
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return err
	}
	b.WriteString("\n")
	refused := slices.SortedFunc(maps.Keys(e.fits), func(x, y question) int {
		return strings.Compare(string(x.ask)+"\x00"+string(x.node), string(y.ask)+"\x00"+string(y.node))
	})
	for _, q := range refused {
		if !e.fits[q] {
			fmt.Fprintf(&b, "\n%s %q %q\n", refusesWord, q.ask, q.node)
		}
	}
	for i := range e.steps {
		if err := e.writeStep(&b, i, made); err != nil {
			return err
		}
	}
	_, err = w.Write(b.Bytes())
	return err
}

// writeStep writes a step with its effects.
func (e *Excerpt) writeStep(b *bytes.Buffer, i int, made Made) error {
	s, err := e.steps[i].step()
	if err != nil {
		return err
	}
	name, fields := scheduled, []byte(strconv.Itoa(s.Budget))
	if s.Command != nil {
		exact := true
		name, fields, exact = recording.CommandText(s.Command)
		if !exact {
			return fmt.Errorf("%s has %w", name, errNotUTF8)
		}
	}
	fmt.Fprintf(b, "\n%s %s %s\n", s.At.Format(time.RFC3339Nano), name, fields)
	if len(s.Answers) > 0 && e.fits == nil {
		fmt.Fprintf(b, "%s %x\n", answersWord, s.Answers)
	}
	switch {
	case i < len(made.Effects):
		for _, effect := range made.Effects[i] {
			b.WriteString(indent + effect + "\n")
		}
	case i == len(made.Effects) && made.Panic != "":
		b.WriteString(indent + "panic: " + oneLine.Replace(made.Panic) + "\n")
	}
	return nil
}

// Parse reads the text of an excerpt, without the effects. The error names the line.
func Parse(text []byte) (*Excerpt, error) {
	e := &Excerpt{fits: map[question]bool{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		line, number := lines.Text(), n
		if e.begin == nil && strings.HasPrefix(line, beginWord+" ") {
			for !json.Valid([]byte(line[len(beginWord):])) && lines.Scan() { // it has several lines
				line += "\n" + lines.Text()
				n++
			}
		}
		if err := e.parseLine(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if e.begin == nil {
		return nil, fmt.Errorf("there is no line that begins with %s", beginWord)
	}
	return e, nil
}

func (e *Excerpt) parseLine(line string) error {
	first, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, indent):
		return nil
	case first == beginWord:
		if e.begin != nil {
			return fmt.Errorf("%s is there twice", beginWord)
		}
		begin, err := recording.ParseBegin([]byte(rest))
		if err != nil {
			return err
		}
		e.begin = recording.EncodeBegin(begin)
		return nil
	case first == refusesWord:
		var q question
		if _, err := fmt.Sscanf(rest, "%q %q", (*string)(&q.ask), (*string)(&q.node)); err != nil {
			return fmt.Errorf("%s needs an ask and a node in quotes: %w", refusesWord, err)
		}
		if e.fits == nil {
			return errBothAnswers
		}
		e.fits[q] = false
		return nil
	case first == answersWord:
		if len(e.steps) == 0 {
			return fmt.Errorf("%s is before the first step", answersWord)
		}
		if len(e.fits) > 0 {
			return errBothAnswers
		}
		answers, err := hex.DecodeString(rest)
		e.steps[len(e.steps)-1].answers, e.fits = answers, nil
		return err
	}
	return e.parseStep(first, rest)
}

func (e *Excerpt) parseStep(first, rest string) error {
	at, err := time.Parse(time.RFC3339Nano, first)
	if err != nil {
		return fmt.Errorf("%q is neither a time nor begin, refuses or answers", first)
	}
	s := step{at: at.UTC()}
	name, fields, _ := strings.Cut(rest, " ")
	if name == scheduled {
		if s.budget, err = strconv.Atoi(fields); err != nil {
			return fmt.Errorf("%s needs a budget: %w", scheduled, err)
		}
	} else {
		cmd, err := recording.ParseCommand(name, []byte(fields))
		if err != nil {
			return err
		}
		s.command, s.about = recording.EncodeCommand(cmd), subjectOf(cmd)
	}
	e.steps = append(e.steps, s)
	return nil
}
