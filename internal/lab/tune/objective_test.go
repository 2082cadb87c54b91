package tune

import (
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]Objective{
		"root.prod p95 < 60s":    {"root.prod", "p95", time.Minute},
		"Root.Prod P50<1h30m":    {"root.prod", "p50", 90 * time.Minute},
		"  root.a  max  < 5ms  ": {"root.a", "max", 5 * time.Millisecond},
	} {
		got, err := ParseObjective(text)
		assert.NilError(t, err)
		assert.Equal(t, got, want)
		again, err := ParseObjective(got.String())
		assert.NilError(t, err)
		assert.Equal(t, again, want)
	}
	for text, want := range map[string]string{
		"":                      `"" is no objective: it is QUEUE p50|p95|max < DURATION, such as "root.prod p95 < 60s"`,
		"root.prod p95 60s":     `is no objective`,
		"p95 < 60s":             `is no objective`,
		"root.a root.b p95 < 1": `is no objective`,
		"root.prod p99 < 60s":   `"root.prod p99 < 60s": unknown quantile "p99": p50, p95 or max; did you mean "p95"?`,
		"root.prod mean < 60s":  `unknown quantile "mean": p50, p95 or max`,
		"root.prod p95 < 60":    `"60" is no duration above 0, such as 60s or 5m`,
		"root.prod p95 < 0s":    `"0s" is no duration above 0`,
		"root.prod p95 < -5s":   `"-5s" is no duration above 0`,
		"root.prod p95 <= 5s":   `"= 5s" is no duration above 0`,
		"root.prod p95 <":       `"" is no duration above 0`,
	} {
		_, err := ParseObjective(text)
		assert.ErrorContains(t, err, want)
	}
}

func group(name string, seconds ...int) whatif.Group {
	g := whatif.Group{Name: name, Asks: len(seconds)}
	for _, s := range seconds {
		w := time.Duration(s) * time.Second
		if s == never {
			w = whatif.Forever
			g.Waiting++
		}
		g.Waits = append(g.Waits, w)
	}
	return g
}

// never is the wait of an ask that never ran.
const never = -1

// The quantile of a parent is of all asks below it, and an ask that never ran waits for ever.
func TestObjective_Figure(t *testing.T) {
	o := whatif.Outcome{Queues: []whatif.Group{group("root.a.b", 1, 2, 9), group("root.a.c", 3),
		group("root.ab", 100, 200, 300), group("root.d", 5, never)}}
	for text, want := range map[string]Wait{
		"root.a p50 < 1s": Wait(2 * time.Second), "root.a max < 1s": Wait(9 * time.Second),
		"root.a.c p95 < 1s": Wait(3 * time.Second),
		"root.d p50 < 1s":   Wait(5 * time.Second), "root.d p95 < 1s": Wait(whatif.Forever), "root.x max < 1s": 0,
	} {
		x, err := ParseObjective(text)
		assert.NilError(t, err)
		got, _ := x.figure(&o)
		assert.Equal(t, got, want, text)
	}
	out, err := json.Marshal([]any{Wait(whatif.Forever), Wait(1500 * time.Millisecond),
		Objective{"root.a", "max", time.Minute}})
	assert.NilError(t, err)
	assert.Equal(t, string(out), `[null,1.5,{"queue":"root.a","quantile":"max","below":60}]`)
	assert.Equal(t, Wait(whatif.Forever).String()+" "+Wait(90*time.Second).String(), "never 90.0s")
}

const teams = `
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: team
            resources: {guaranteed: {vcore: 100}}
            queues:
              - {name: prod, resources: {guaranteed: {vcore: 10, gpu: 3}}, properties: {priority.offset: -5}} # the shop
              - name: dev
          - {name: batch, resources: {guaranteed: {vcore: 0}}}
`

func TestRun_RefusesObjectives(t *testing.T) {
	for text, want := range map[string]string{
		"root p95 < 1s": `objective "root p95 < 1s": root has no guarantee and no offset that could be changed; ` +
			`name a queue below it`,
		"root.team.prd p95 < 1s": `objective "root.team.prd p95 < 1s": unknown queue "root.team.prd" in the ` +
			`configuration; did you mean "root.team.prod"?`,
		"team.prod p95 < 1s":       `unknown queue "team.prod": did you mean "root.team.prod"?`,
		"root.elephant p95 < 1m0s": `unknown queue "root.elephant" in the configuration`,
		"root.batch p95 < 1s":      `objective "root.batch p95 < 1s": queue root.batch has no asks in the recording`,
	} {
		o, err := ParseObjective(text)
		assert.NilError(t, err)
		_, err = Run([]byte(teams), "default",
			Options{Objectives: []Objective{o}, Others: 2, MaxTrials: 10, Evaluate: fixed(group("root.team.prod", 5))})
		assert.ErrorContains(t, err, want)
	}
	_, err := Run([]byte(teams), "gpu", Options{})
	assert.Error(t, err, `the configuration has no partition "gpu", which was recorded`)
	_, err = Run([]byte(teams), "default", Options{})
	assert.Error(t, err, "there is no objective")
	_, err = Run([]byte("partitions: []"), "default", Options{})
	assert.ErrorContains(t, err, "partition")
	_, problems := queuesyaml.Load([]byte(teams))
	assert.Equal(t, len(problems.Errors()), 0, "%v", problems)
}
