package tune

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
)

// Trial is a change that was tried, and what it comes to on the recording.
type Trial struct {
	Change Change `json:"change"`
	// why the configuration with it is invalid: then it has no figures; empty: it is valid
	Refused string `json:"refused,omitempty"`
	// those of the objectives, in their order, in seconds; null: an ask in it never ran
	Figures         []Wait `json:"figures,omitempty"`
	Worst           *Other `json:"worst,omitempty"` // of the other leaf queues; nil: there are none
	MeetsObjectives bool   `json:"meetsObjectives"`
	MeetsOthers     bool   `json:"meetsOthers"` // no other leaf waits more than is allowed

	lowers bool // the objectives hold that do not with the given configuration: so it is with all larger values
	spares bool // the others hold still, and no other leaf waits more than is allowed: so it is with all smaller values
}

// Verdict says in words what a trial meets.
func (t *Trial) Verdict() string {
	switch {
	case t.Refused != "":
		return "refused: " + t.Refused
	case t.MeetsObjectives && t.MeetsOthers:
		return "meets all"
	case t.MeetsObjectives:
		return "others wait too long"
	case t.MeetsOthers:
		return "an objective does not hold"
	}
	return "an objective does not hold, and others wait too long"
}

func (t *Trial) ifMeetsAll() *Trial {
	if t.MeetsObjectives && t.MeetsOthers {
		return t
	}
	return nil
}

// Status says how a search has ended.
type Status string

// The ends of a search.
const (
	NotNeeded Status = "not needed" // the objectives hold with the given configuration
	Found     Status = "found"
	NotFound  Status = "not found"
)

// Result holds what a search has found, with its evidence.
type Result struct {
	Partition  string      `json:"partition"`
	From       time.Time   `json:"from"` // of the recording, or of the part of it that was taken
	To         time.Time   `json:"to"`
	Steps      uint64      `json:"steps"`
	Objectives []Objective `json:"objectives"`
	Others     float64     `json:"others"`
	Status     Status      `json:"status"`

	Base   *Trial   `json:"base"`   // the given configuration
	Trials []*Trial `json:"trials"` // in the order in which they were tried

	// Proposal is the change that meets all; not found: the one that comes nearest to the objectives of those that the
	// others bear; nil: none is nearer than the given configuration, or none is needed.
	Proposal    *Trial   `json:"proposal"`
	Reasons     []string `json:"reasons,omitempty"` // why none was found, or why a smaller one may exist
	Diff        []string `json:"diff,omitempty"`    // the lines of the text that the proposal changes
	Assumptions []string `json:"assumptions"`       // what the recording does not know

	Text []byte `json:"-"` // the text with the proposal; nil: there is none
}

// result summarizes the trials.
func (s *search) result(c *whatif.Comparison, base, found *Trial) *Result {
	r := &Result{
		Partition: c.Partition, From: c.From, To: c.To, Steps: c.Steps, Objectives: s.Objectives, Others: s.Others,
		Base: base, Trials: s.trials, Proposal: found, Assumptions: c.Assumptions,
	}
	switch {
	case base.MeetsObjectives:
		r.Status = NotNeeded
		return r
	case found != nil:
		r.Status = Found
	default:
		r.Status = NotFound
		r.Proposal = s.nearest(base)
		r.Reasons = s.reasons(r.Proposal, base)
	}
	if s.exhausted {
		r.Reasons = append(r.Reasons,
			fmt.Sprintf("the search has ended after %d trials, as many as it may make", s.evaluated))
	}
	if r.Proposal != nil {
		r.Text, _ = r.Proposal.Change.apply(s.text, s.partition) // the trial has applied it already
		r.Diff = diffLines(string(s.text), string(r.Text))
	}
	return r
}

// nearest returns the trial that comes nearest to the objectives, of those that the others bear; nil: none is nearer
// than the base.
func (s *search) nearest(base *Trial) (out *Trial) {
	best := s.ratio(base)
	for _, t := range s.trials {
		if t.Refused == "" && t.spares && s.ratio(t) < best {
			out, best = t, s.ratio(t)
		}
	}
	return out
}

// ratio returns the largest ratio of a figure to its bound, of the objectives that do not hold with the given
// configuration; infinite: an ask never ran.
func (s *search) ratio(t *Trial) (out float64) {
	for i, o := range s.Objectives {
		switch {
		case !s.unmet[i]:
		case time.Duration(t.Figures[i]) == whatif.Forever:
			return math.Inf(1)
		default:
			out = max(out, float64(t.Figures[i])/float64(o.Below))
		}
	}
	return out
}

// reasons say why the nearest trial is not enough, and what the others would bear if the objectives were met.
func (s *search) reasons(nearest, base *Trial) (out []string) {
	if nearest == nil {
		out = append(out, "no change that the others bear, of those that were tried, comes nearer to the objective")
		nearest = base
	}
	out = append(out, s.failures(nearest)...)
	var met *Trial
	for _, t := range s.trials {
		if t.lowers &&
			(met == nil || t.excess() < met.excess() || t.excess() == met.excess() && len(t.Change) <= len(met.Change)) {
			met = t // of two that are as bad, the later has the smaller value
		}
	}
	if met != nil {
		but := s.failures(met)
		if !met.MeetsOthers {
			but = append(but, met.Worst.String())
		}
		out = append(out,
			fmt.Sprintf("%s would be enough for %s, but then %s", met.Change, s.unmetNames(), strings.Join(but, ", ")))
	}
	return out
}

// failures returns the objectives that do not hold in a trial, with the figures.
func (s *search) failures(t *Trial) (out []string) {
	for i, o := range s.Objectives {
		if w := t.Figures[i]; !o.holds(w) {
			out = append(out, fmt.Sprintf("%s %s is %s, not below %s", o.Queue, o.Quantile, w, o.Below))
		}
	}
	return out
}

// unmetNames returns the objectives that do not hold with the given configuration.
func (s *search) unmetNames() string {
	var names []string
	for i, o := range s.Objectives {
		if s.unmet[i] {
			names = append(names, o.String())
		}
	}
	return strings.Join(names, " and ")
}

// excess returns how far the other leaf that is nearest to its bound is above it; 0: there is none.
func (t *Trial) excess() float64 {
	if t.Worst == nil {
		return 0
	}
	return t.Worst.excess
}
