package excerpt

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Excerpt are steps from where a replay can begin up to an effect. It is not changed by a replay.
type Excerpt struct {
	begin []byte // recording.EncodeBegin
	steps []step
	// answers of the Oracle that are the same whenever it is asked; nil: each step has its own
	fits map[question]bool
}

// step is a recorded step. Commands are kept encoded, since a Core may change what it gets.
type step struct {
	at      time.Time
	command []byte // nil: a call of Schedule
	budget  int
	answers []byte
	about   subject
}

// question has the ask and the node that an Oracle is asked about.
type question struct {
	ask  objects.AllocationKey
	node objects.NodeID
}

// Made are the effects of each step.
type Made struct {
	Effects [][]string // as text on one line, of each step up to a panic
	Panic   string     // how the scheduler has panicked in the step behind them; empty: it has not
}

// Replay makes the steps.
func (e *Excerpt) Replay() (Made, error) {
	var made Made
	err := e.replay(nil, func(_ int, p playback.Played) bool {
		if p.Panic != "" {
			made.Panic = firstLine(p.Panic)
			return false
		}
		made.Effects = append(made.Effects, lines(p.Effects))
		return true
	})
	return made, err
}

// replay makes the steps until visit returns false. onAnswer gets the answers of the Oracle; it may be nil.
func (e *Excerpt) replay(onAnswer func(question, bool), visit func(i int, p playback.Played) bool) error {
	begin, err := recording.DecodeBegin(e.begin)
	if err != nil {
		return err
	}
	var p playback.Player
	if e.fits != nil {
		p.Answers.Otherwise = func(ask objects.AllocationKey, node objects.NodeID) bool {
			is, asked := e.fits[question{ask, node}]
			return is || !asked
		}
	}
	if onAnswer != nil {
		p.Answers.OnAnswer = func(ask objects.AllocationKey, node objects.NodeID,
			is bool) {
			onAnswer(question{ask, node}, is)
		}
	}
	if err := beginWith(&p, begin); err != nil {
		return err
	}
	for i := range e.steps {
		s, err := e.steps[i].step()
		if err != nil {
			return err
		}
		if e.fits != nil {
			s.Answers = nil
		}
		if !visit(i, p.Make(s)) {
			return nil
		}
	}
	return nil
}

// beginWith makes the Core. The error says that the configuration is none that validation accepts.
func beginWith(p *playback.Player, begin *recording.Begin) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("no scheduler can be made with this: %v", x)
		}
	}()
	p.Begin(begin)
	return nil
}

// step is the step with a command of its own.
func (s *step) step() (*recording.Step, error) {
	out := &recording.Step{At: s.at, Budget: s.budget, Answers: s.answers}
	if s.command == nil {
		return out, nil
	}
	var err error
	out.Command, err = recording.DecodeCommand(s.command)
	return out, err
}

// lines are effects, each on one line.
func lines(effects []scheduler.Effect) []string {
	texts := playback.Texts(effects)
	for i := range texts {
		texts[i] = oneLine.Replace(texts[i])
	}
	return texts
}

// oneLine keeps texts of users on the line of their effect.
var oneLine = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// clone is a copy whose steps can be left out.
func (e *Excerpt) clone() *Excerpt {
	c := *e
	c.steps, c.fits = append([]step(nil), e.steps...), maps.Clone(e.fits)
	return &c
}

// Len is the number of steps.
func (e *Excerpt) Len() int { return len(e.steps) }
