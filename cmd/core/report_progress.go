package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// redrawInterval is the least time between two changes of the line on a terminal.
const redrawInterval = 100 * time.Millisecond

// progress reports the progress of a command: on a terminal as one line that changes, otherwise as a
// line for each phase that is finished.
type progress struct {
	out      io.Writer
	terminal bool
	open     bool // the line on the terminal has not ended
	last     time.Time
}

func progressOn(out io.Writer) *progress { return &progress{out: out, terminal: isTerminal(out)} }

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	stat, err := file.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// phase reports that a phase is finished.
func (p *progress) phase(text string) {
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	p.draw(text)
}

// count reports how much of a phase is finished. Without a terminal only its end is reported.
func (p *progress) count(what string, done, total int) {
	switch {
	case done >= total:
		p.phase(counted(withThousands(done), what))
	case p.terminal && time.Since(p.last) >= redrawInterval:
		p.draw(fmt.Sprintf("%s of %s %s", withThousands(done), withThousands(total), what))
	}
}

// line reports an event on a line of its own, on a terminal too.
func (p *progress) line(text string) {
	p.end()
	fmt.Fprintln(p.out, text)
}

func (p *progress) draw(text string) {
	const toLineStart, eraseLine = "\r", "\x1b[K"
	fmt.Fprint(p.out, toLineStart, text, eraseLine)
	p.open, p.last = true, time.Now()
}

// end ends the line on the terminal, if there is one.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
