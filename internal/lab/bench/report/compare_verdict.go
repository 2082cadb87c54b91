package report

import "math"

// decideVerdicts sets the verdict of every figure. It depends on the number of figures: the more are
// tested, the more differ by chance.
func (c *Comparison) decideVerdicts() {
	var ps []float64
	for _, f := range c.Figures {
		if f.P != nil {
			ps = append(ps, *f.P)
		}
	}
	tests := len(ps)
	c.RunsFor = runsFor(tests)
	corrected := holm(ps)
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.P != nil {
			f.P, corrected = &corrected[0], corrected[1:]
			f.Verdict = f.verdict(c.Threshold, tests)
		}
		c.Verdicts.add(f.Verdict)
	}
	for _, o := range c.NotCompared {
		if o.Worse {
			c.Verdicts.Worse++
		}
	}
}

// verdict returns the verdict of a figure that is not exact. P must be corrected.
func (f *Compared) verdict(threshold float64, tests int) Verdict {
	switch {
	case *f.P <= significance && math.Abs(f.Ratio.Value-1) > threshold:
		return direction(f.Ratio.Value > 1, f.metric.Higher)
	case *f.P > significance && smallestP(f.OldRuns, f.NewRuns)*float64(tests) > significance:
		return TooFewRuns
	}
	return NoDifference
}

func (v *Verdicts) add(verdict Verdict) {
	switch verdict {
	case Better:
		v.Better++
	case Worse:
		v.Worse++
	case NoDifference:
		v.NoDifference++
	case TooFewRuns:
		v.TooFewRuns++
	default:
		panic("bench: a figure without a verdict: " + string(verdict))
	}
}
