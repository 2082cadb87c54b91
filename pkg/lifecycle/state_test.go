package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// transitionTable is the table of APP-1: a row for each state, a column for each event; a dot where
// there is no transition.
const transitionTable = `
            run        reject    complete    fail     expire   resume
New         Accepted   Rejected  Completing  Failing  .        Resuming
Accepted    Running    .         Completing  Failing  .        Resuming
Running     Running    .         Completing  Failing  .        .
Rejected    .          .         .           .        Expired  .
Completing  Running    .         Completed   Failing  .        .
Completed   .          .         .           .        Expired  .
Failing     .          .         .           Failed   .        .
Failed      .          .         .           .        Expired  .
Expired     .          .         .           .        .        .
Resuming    Accepted   .         .           Failing  .        .
`

func TestApplicationStates_TransitionTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(transitionTable), "\n")
	assert.Equal(t, len(lines), 1+int(states), "a row for each state")
	columns := strings.Fields(lines[0])
	assert.Equal(t, len(columns), int(events), "a column for each event")
	for i, line := range lines[1:] {
		from, row := State(i), strings.Fields(line)
		assert.Equal(t, row[0], from.String())
		for e := range events {
			t.Run(fmt.Sprintf("APP-1: %s in state %s", e, from), func(t *testing.T) {
				assert.Equal(t, e.String(), columns[e]+"Application")
				got := "."
				if to, ok := from.After(e); ok {
					got = to.String()
				}
				assert.Equal(t, got, row[1+e])
			})
		}
	}
}
