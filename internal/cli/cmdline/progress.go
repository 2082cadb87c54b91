package cmdline

import (
	"fmt"
	"io"
	"os"
	"time"
)

// redrawInterval is the least time between two changes of the line on a terminal.
const redrawInterval = 100 * time.Millisecond

// Progress reports the progress of a command: on a terminal as one line that changes, otherwise as a
// Line for each phase that is finished.
type Progress struct {
	out      io.Writer
	terminal bool
	open     bool // the line on the terminal has not ended
	last     time.Time
}

// ProgressOn returns a Progress that is reported on out.
func ProgressOn(out io.Writer) *Progress { return &Progress{out: out, terminal: IsTerminal(out)} }

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	stat, err := file.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// Phase reports that a phase is finished.
func (p *Progress) Phase(text string) {
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	p.draw(text)
}

// Count reports how much of a phase is finished. Without a terminal only its end is reported.
func (p *Progress) Count(what string, done, total int) {
	switch {
	case done >= total:
		p.Phase(Counted(WithThousands(done), what))
	default:
		p.Redraw(fmt.Sprintf("%s of %s %s", WithThousands(done), WithThousands(total), what))
	}
}

// Line reports an event on a line of its own, on a terminal too.
func (p *Progress) Line(text string) {
	p.End()
	fmt.Fprintln(p.out, text)
}

// Redraw changes the line on a terminal, unless it has just changed. Without a terminal it does nothing.
func (p *Progress) Redraw(text string) {
	if p.terminal && time.Since(p.last) >= redrawInterval {
		p.draw(text)
	}
}

func (p *Progress) draw(text string) {
	const toLineStart, eraseLine = "\r", "\x1b[K"
	fmt.Fprint(p.out, toLineStart, text, eraseLine)
	p.open, p.last = true, time.Now()
}

// End ends the line on the terminal, if there is one.
func (p *Progress) End() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
