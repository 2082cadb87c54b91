package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Objective is a bound on how long the asks of a queue wait.
type Objective struct {
	// the path of a leaf, or of a parent: then all asks below it count together; in lower case
	Queue    string        `json:"queue"`
	Quantile string        `json:"quantile"` // p50, p95 or max
	Below    time.Duration `json:"-"`        // the quantile must be less; above 0
}

// MarshalJSON writes the bound in seconds.
func (o Objective) MarshalJSON() ([]byte, error) {
	type plain Objective
	return json.Marshal(struct {
		plain
		Below float64 `json:"below"`
	}{plain(o), o.Below.Seconds()})
}

// quantiles are the names of the quantiles that an objective can have.
var quantiles = map[string]float64{"p50": 0.5, "p95": 0.95, "max": 1}

// quantileNames has them in the order of messages.
var quantileNames = []string{"p50", "p95", "max"}

// ParseObjective reads a text such as "root.prod p95 < 60s". Whether there is such a queue is not known yet.
func ParseObjective(text string) (Objective, error) {
	left, right, ok := strings.Cut(text, "<")
	words := strings.Fields(left)
	if !ok || len(words) != 2 {
		return Objective{},
			fmt.Errorf(`%q is no objective: it is QUEUE p50|p95|max < DURATION, such as "root.prod p95 < 60s"`, text)
	}
	o := Objective{Queue: strings.ToLower(words[0]), Quantile: strings.ToLower(words[1])}
	if _, ok := quantiles[o.Quantile]; !ok {
		return Objective{},
			fmt.Errorf("%q: unknown quantile %q: p50, p95 or max%s", text, words[1], hint(o.Quantile, quantileNames))
	}
	var err error
	if o.Below, err = time.ParseDuration(strings.TrimSpace(right)); err != nil || o.Below <= 0 {
		return Objective{}, fmt.Errorf("%q: %q is no duration above 0, such as 60s or 5m", text, strings.TrimSpace(right))
	}
	return o, nil
}

func (o Objective) String() string {
	return fmt.Sprintf("%s %s < %s", o.Queue, o.Quantile, o.Below)
}

// figure returns the quantile of an outcome, and how many asks it is of. Forever: an ask in it never ran.
func (o Objective) figure(out *whatif.Outcome) (wait Wait, asks int) {
	var all []time.Duration
	for _, g := range out.Queues {
		if isAtOrBelow(g.Name, o.Queue) {
			all = append(all, g.Waits...)
		}
	}
	slices.Sort(all)
	return Wait(whatif.Quantile(all, quantiles[o.Quantile])), len(all)
}

// isAtOrBelow reports whether a path is that of a queue, or of one below it.
func isAtOrBelow(path, queue string) bool {
	return path == queue || strings.HasPrefix(path, queue+".")
}

// checkQueues reports objectives on queues that the configuration does not have.
func checkQueues(objectives []Objective, queues map[string]*configs.Queue) error {
	if len(objectives) == 0 {
		return errors.New("there is no objective")
	}
	known := slices.Sorted(maps.Keys(queues))
	var wrong []error
	for _, o := range objectives {
		switch {
		case o.Queue == configs.RootQueue:
			wrong = append(wrong,
				fmt.Errorf("objective %q: root has no guarantee and no offset that could be changed; name a queue below it", o))
		case queues[o.Queue] == nil && queues[configs.RootQueue+"."+o.Queue] != nil:
			wrong = append(wrong,
				fmt.Errorf("objective %q: unknown queue %q: did you mean %q?", o, o.Queue, configs.RootQueue+"."+o.Queue))
		case queues[o.Queue] == nil:
			wrong = append(wrong,
				fmt.Errorf("objective %q: unknown queue %q in the configuration%s", o, o.Queue, hint(o.Queue, known)))
		}
	}
	return errors.Join(wrong...)
}

// hint returns a suggestion behind a message, or empty.
func hint(written string, known []string) string {
	if h := validation.DidYouMean(written, known); h != "" {
		return "; " + h
	}
	return ""
}

// Wait is a wait in an outcome; whatif.Forever: until the end of the recording, and longer.
type Wait time.Duration

// MarshalJSON writes seconds, and null for whatif.Forever.
func (w Wait) MarshalJSON() ([]byte, error) {
	if time.Duration(w) == whatif.Forever {
		return []byte("null"), nil
	}
	return json.Marshal(time.Duration(w).Seconds())
}

func (w Wait) String() string {
	if time.Duration(w) == whatif.Forever {
		return "never"
	}
	return whatif.FormatSeconds(time.Duration(w).Seconds())
}

// holds reports whether a figure is less than the bound.
func (o Objective) holds(w Wait) bool { return time.Duration(w) < o.Below }
