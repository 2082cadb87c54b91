package excerpt_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/excerpt"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is an excerpt of a placement among things that have nothing to do with it. lines are further lines.
func small(t *testing.T, lines ...string) *excerpt.Excerpt {
	t.Helper()
	text := `begin {"oracle":1,"partition":{"name":"default","root":{"name":"root","parent":true,
  "submitACL":{"everyone":true},"children":[{"name":"a","maxApplications":7},{"name":"b","children":[{"name":"c"}]}]}}}
2026-01-02T15:04:05Z add-node {"node":"n1","schedulable":true,"total":{"vcore":4000}}
2026-01-02T15:04:05Z add-node {"node":"n2","schedulable":true,"total":{"vcore":4000}}
2026-01-02T15:04:06Z add-application {"app":"x","queue":"root.a","user":{"name":"ann"}}
2026-01-02T15:04:06Z add-application {"app":"y","queue":"root.b.c","user":{"name":"bob"}}
2026-01-02T15:04:07Z submit-ask {"ask":{"app":"y","key":"other","amounts":{"vcore":1000}}}
2026-01-02T15:04:07Z submit-ask {"ask":{"app":"x","key":"wanted","amounts":{"vcore":1000}}}
2026-01-02T15:04:08Z schedule 256
` + strings.Join(lines, "\n")
	e, err := excerpt.Parse([]byte(text))
	assert.NilError(t, err)
	return e
}

func textOf(t *testing.T, e *excerpt.Excerpt) string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, e.Write(&b))
	return b.String()
}

// What has nothing to do with the effect is left out: steps, queues, settings, and the Oracle.
func TestShorten_LeavesOut(t *testing.T) {
	e := small(t)
	short, complete, err := e.Shorten(excerpt.Target{Text: "allocated wanted (x) on n1"},
		excerpt.Shortening{MaxReplays: 1000})
	assert.NilError(t, err)
	assert.Assert(t, complete)
	text := textOf(t, short)
	assert.Equal(t, text[strings.Index(text, "\n2026"):], `
2026-01-02T15:04:05Z add-node {"node":"n1","schedulable":true,"total":{"vcore":4000}}
    accepted node n1

2026-01-02T15:04:06Z add-application {"app":"x","queue":"root.a","user":{"name":"ann"}}
    accepted application x

2026-01-02T15:04:07Z submit-ask {"ask":{"amounts":{"vcore":1000},"app":"x","key":"wanted"}}
    application x is Accepted

2026-01-02T15:04:08Z schedule 256
    application x is Running
    allocated wanted (x) on n1
`)
	for _, gone := range []string{`"b"`, "maxApplications", "oracle", "other"} {
		assert.Assert(t, !strings.Contains(text, gone), "%s\n%s", gone, text)
	}
	assert.Equal(t, e.Len(), 7) // the whole one is as before
}

// What ran before the last step is reported as running.
func TestShorten_PinsAllocations(t *testing.T) {
	e := small(t, `2026-01-02T15:04:09Z submit-ask {"ask":{"app":"x","key":"last","amounts":{"vcore":4000}}}`,
		"2026-01-02T15:04:09Z schedule 256")
	short, _, err := e.Shorten(excerpt.Target{Text: "allocated last (x) on n2"}, excerpt.Shortening{MaxReplays: 1000})
	assert.NilError(t, err)
	text := textOf(t, short)
	assert.Assert(t, strings.Contains(text, "allocated last (x) on n2"), text)
	assert.Assert(t, !strings.Contains(text, `"wanted"`) || strings.Contains(text, "report-allocation"), text)
}

func TestShorten_IsBounded(t *testing.T) {
	var replays, steps []int
	_, complete, err := small(t).Shorten(excerpt.Target{Text: "allocated wanted (x) on n1"}, excerpt.Shortening{
		MaxReplays: 5, Progress: func(r, s int) { replays, steps = append(replays, r), append(steps, s) },
	})
	assert.NilError(t, err)
	assert.Assert(t, !complete)
	assert.DeepEqual(t, replays, []int{1, 2, 3, 4, 5})
	assert.Assert(t, steps[4] <= 7, "%v", steps)
}

// Answers of the Oracle that are the same whenever it is asked are kept as refusals.
func TestShorten_KeepsRefusals(t *testing.T) {
	text := textOf(t, small(t, `refuses "wanted" "n1"`))
	assert.Assert(t, strings.Contains(text, "allocated wanted (x) on n2"), text)
	e, err := excerpt.Parse([]byte(text))
	assert.NilError(t, err)
	short, _, err := e.Shorten(excerpt.Target{Text: "allocated wanted (x) on n2"}, excerpt.Shortening{MaxReplays: 1000})
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(textOf(t, short), "allocated wanted (x) on n2"))
}

// An excerpt whose answers change while it runs is left as it is.
func TestShorten_AnswersThatChange(t *testing.T) {
	answers := func(fits ...string) string { return "answers " + strings.Join(fits, "") }
	// other is placed on n1; wanted is refused on n1 and n2, and later accepted on n2
	e := small(t, answers("01", "00", "00"),
		`2026-01-02T15:05:10Z add-node {"node":"n3","schedulable":true,"total":{"vcore":500}}`,
		"2026-01-02T15:05:20Z schedule 256", answers("00", "01"))
	assert.Assert(t, strings.Contains(textOf(t, e), "answers 010000"))
	_, _, err := e.Shorten(excerpt.Target{Text: "no effect"}, excerpt.Shortening{MaxReplays: 100})
	assert.Equal(t, err, excerpt.ErrAnswers)
}

func TestParse_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "there is no line that begins with begin",
		"begin {}\nbegin {}":                 "line 2: begin is there twice",
		"begin {\"partition\":{\"nam\":1}}":  `line 1: partition of recording.Begin: configs.Partition has no field "nam"`,
		"begin {":                            "line 1: unexpected EOF",
		"begin {}\nnoon schedule 1":          `line 2: "noon" is neither a time nor begin, refuses or answers`,
		"begin {}\n2026-01-02T15:04:05Z fly": `line 2: there is no command "fly"`,
		"begin {}\n2026-01-02T15:04:05Z":     `line 2: there is no command ""`,
		"begin {}\nrefuses k n":              "line 2: refuses needs an ask and a node in quotes",
		"begin {}\nanswers 01":               "line 2: answers is before the first step",
		"begin {}\n2026-01-02T15:04:05Z schedule 1\nanswers 01\nrefuses \"k\" \"n\"": "line 4: answers and refuses exclude " +
			"each other",
		"begin {}\nrefuses \"k\" \"n\"\n2026-01-02T15:04:05Z schedule 1\nanswers 01": "line 4: answers and refuses exclude " +
			"each other",
		"begin {\n}\n2026-01-02T15:04:05Z x":   `line 3: there is no command "x"`,
		"2026-01-02T15:04:05Z schedule a":      "line 1: schedule needs a budget",
		"2026-01-02T15:04:05Z schedule 1\nans": `line 2: "ans" is neither`,
	} {
		_, err := excerpt.Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
	_, err := excerpt.Parse([]byte("begin {}\n2026-01-02T15:04:05Z schedule 1\nanswers xy"))
	assert.ErrorContains(t, err, "line 3: encoding/hex: invalid byte")
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"gang", "guarantee"} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		assert.NilError(f, err)
		f.Add(string(text))
	}
	f.Add("begin {}\n2026-01-02T15:04:05Z schedule 1\nanswers 01\nrefuses \"a\" \"b\"")
	f.Add("begin {}\nrefuses \"a\" \"b\"\n2026-01-02T15:04:05Z schedule 1\nanswers 01")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := excerpt.Parse([]byte(text))
		if err != nil {
			return
		}
		assert.Assert(t, e.Len() <= strings.Count(text, "\n")+1)
	})
}

func TestAbout(t *testing.T) {
	placed := scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "k-1", App: "x"}, Node: "n1"}}
	for name, want := range map[string]bool{"k-1": true, "x": true, "n1": true, "k": false, "1": false, "n": false,
		"n11": false, "": false} {
		assert.Equal(t, excerpt.About(placed, name), want, name)
	}
	assert.Assert(t, excerpt.About(scheduler.NodeRejected{Node: "n1", Reason: "twice"}, "n1"))
	assert.Assert(t,
		excerpt.About(scheduler.Released{Key: "k", App: "x", Type: scheduler.PreemptedByScheduler, Message: "for kk, k2"},
			"k2"))
}
