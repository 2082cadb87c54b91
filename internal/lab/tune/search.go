package tune

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Options says what is searched for.
type Options struct {
	Objectives []Objective // all must hold; at least one
	Others     float64     // how many times as long other leaves may wait, apart from a second; at least 1
	// how many changes are tried at most, besides the given configuration; refused ones do not count; at least 1
	MaxTrials int
	Bounds    queuesyaml.Options

	// Evaluate says what a configuration comes to on the recording: the same for the same configuration. Its error ends
	// the search.
	Evaluate func(*configs.Config) (*whatif.Comparison, error)
	Tried    func(*Trial) // is called with each trial; nil: it is not
}

// search tries changes of a text.
type search struct {
	Options
	text      []byte
	partition string
	queues    map[string]*configs.Queue
	base      *whatif.Outcome
	unmet     []bool            // by objective: it does not hold with the given configuration
	known     map[string]*Trial // by change
	trials    []*Trial
	evaluated int
	exhausted bool // MaxTrials was reached
	err       error
}

// Run searches a change of a valid queues.yaml, or of the one in a ConfigMap, that meets all objectives on a recording
// of a partition.
//
// Families of changes are tried in an order: priority offsets of the queues whose objectives do not hold, those of the
// queues above, guarantees, and an offset and guarantees together. The first that has a change which meets all gives
// the result, the smallest of its ladder. Waits are taken for monotone: a larger value does not make the queue wait
// longer, or others shorter. Where they are not, a smaller change may exist.
//
// Errors: the text is invalid, or has no such partition or queue; a queue of an objective has no ask in the recording;
// those of Evaluate.
func Run(text []byte, partition string, o Options) (*Result, error) {
	conf, problems := queuesyaml.LoadWith(text, o.Bounds)
	if conf == nil {
		return nil, problems
	}
	s := &search{Options: o, text: queuesyaml.QueuesYAML(text), partition: partition, known: map[string]*Trial{},
		trials: []*Trial{}}
	for i := range conf.Partitions {
		if conf.Partitions[i].Name == partition {
			s.queues = queuesOf(&conf.Partitions[i])
		}
	}
	if s.queues == nil {
		return nil, fmt.Errorf("the configuration has no partition %q, which was recorded", partition)
	}
	if err := checkQueues(o.Objectives, s.queues); err != nil {
		return nil, err
	}
	c, err := o.Evaluate(conf)
	if err != nil {
		return nil, err
	}
	s.base = &c.Changed
	var targets []string
	for _, x := range o.Objectives {
		wait, asks := x.figure(s.base)
		if asks == 0 {
			return nil, fmt.Errorf("objective %q: queue %s has no asks in the recording", x, x.Queue)
		}
		s.unmet = append(s.unmet, !x.holds(wait))
		if !x.holds(wait) && !slices.Contains(targets, x.Queue) {
			targets = append(targets, x.Queue)
		}
	}
	base := s.trialOf(Change{}, s.base)
	var found *Trial
	if len(targets) > 0 {
		found = s.inOrder(targets)
	}
	if s.err != nil {
		return nil, s.err
	}
	for _, t := range s.trials {
		if found == nil {
			found = t.ifMeetsAll() // the search has ended early, or was led astray where waits are not monotone
		}
	}
	return s.result(c, base, found), nil
}

// inOrder returns the first trial that meets all, family by family; nil: there is none.
func (s *search) inOrder(targets []string) *Trial {
	var best family // of the offsets: whose largest value comes nearest to the objectives
	var nearest *Trial
	for _, f := range offsetFamilies(targets, s.queues) {
		found, top := s.smallest(f)
		if found != nil {
			return found
		}
		if top >= 0 && (nearest == nil || s.ratio(s.known[f[top].String()]) < s.ratio(nearest)) {
			best, nearest = f[:top+1], s.known[f[top].String()]
		}
	}
	guarantees := guaranteeFamily(targets, s.queues, s.base)
	found, top := s.smallest(guarantees)
	if found != nil || top < 0 || len(best) == 0 {
		return found
	}
	return s.together(best, guarantees[:top+1])
}

// smallest returns the trial of the smallest value of a family that meets all; nil: there is none. top is the index of
// the largest that is valid; below 0: none is.
func (s *search) smallest(f family) (found *Trial, top int) {
	top = len(f) - 1
	for ; top >= 0; top-- {
		t := s.try(f[top])
		if t == nil {
			return nil, -1
		}
		if t.Refused != "" {
			continue
		}
		if !t.lowers {
			return nil, top
		}
		found = t.ifMeetsAll()
		break
	}
	fails, holds := -1, top // of lowers: others only wait less with smaller values
	for holds-fails > 1 {
		middle := (holds + fails) / 2
		t := s.try(f[middle])
		switch {
		case t == nil:
			return found, top
		case !t.lowers:
			fails = middle
		default:
			holds = middle
			if t.spares {
				found = t
			}
		}
	}
	return found, top
}

// together returns the trial of the smallest value of guarantees, and then of offsets, that meets all when both are
// changed; nil: there is none. It goes along the boundary of where the objectives hold, so that it tries no more than
// there are values in both.
func (s *search) together(offsets, guarantees family) (found *Trial) {
	both := func(i, j int) *Trial { return s.try(append(append(Change{}, offsets[i]...), guarantees[j]...)) }
	if t := both(len(offsets)-1, len(guarantees)-1); t == nil || !t.lowers {
		return nil
	}
	for i, j := len(offsets)-1, 0; i >= 0 && j < len(guarantees); {
		t := both(i, j)
		switch {
		case t == nil:
			return found
		case t.lowers:
			if t.spares {
				found = t
			}
			i--
		case found != nil:
			return found
		default:
			j++
		}
	}
	return found
}

// try evaluates a change, once; nil: no more changes may be tried, or the evaluation has failed.
func (s *search) try(c Change) *Trial {
	name := c.String()
	if t := s.known[name]; t != nil {
		return t
	}
	if s.exhausted || s.err != nil {
		return nil
	}
	t, err := s.evaluate(c)
	if t == nil || err != nil {
		s.err = err
		return nil
	}
	s.known[name] = t
	s.trials = append(s.trials, t)
	if s.Tried != nil {
		s.Tried(t)
	}
	return t
}

func (s *search) evaluate(c Change) (*Trial, error) {
	text, err := c.apply(s.text, s.partition)
	if err != nil {
		return nil, err
	}
	conf, problems := queuesyaml.LoadWith(text, s.Bounds)
	if conf == nil {
		first := problems.Errors()[0]
		return &Trial{Change: c, Refused: first.Message}, nil
	}
	if s.evaluated == s.MaxTrials {
		s.exhausted = true
		return nil, nil
	}
	s.evaluated++
	got, err := s.Evaluate(conf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return s.trialOf(c, &got.Changed), nil
}

// trialOf returns the trial of a change with the outcome.
func (s *search) trialOf(c Change, o *whatif.Outcome) *Trial {
	t := &Trial{Change: c, Worst: worstOf(s.Objectives, s.Others, s.base, o), MeetsObjectives: true, lowers: true}
	t.MeetsOthers = t.Worst == nil || t.Worst.excess <= 1
	t.spares = t.MeetsOthers
	for i, x := range s.Objectives {
		wait, _ := x.figure(o)
		t.Figures = append(t.Figures, wait)
		holds := x.holds(wait)
		t.MeetsObjectives = t.MeetsObjectives && holds
		if s.unmet[i] {
			t.lowers = t.lowers && holds
		} else {
			t.spares = t.spares && holds
		}
	}
	return t
}
