package recording_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/excerpt"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// takeRandom records a run, and takes an excerpt up to one of its effects; nil: it has none. made are the effects of
// each recorded step up to that.
func takeRandom(t *testing.T, s randomrun.Run) (e *excerpt.Excerpt, target excerpt.Target, made [][]string) {
	t.Helper()
	dir := t.TempDir()
	record(openStore(t, recording.Options{Dir: dir}), "default", s)
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	var effects []string
	_, err = playback.Play(sessions[0], playback.Window{}, func(p playback.Played) {
		made = append(made, playback.Texts(p.Effects))
		effects = append(effects, playback.Texts(p.Effects)...)
	})
	assert.NilError(t, err)
	if len(effects) == 0 {
		return nil, excerpt.Target{}, nil
	}
	wanted := effects[rand.New(rand.NewPCG(s.Seed, 7)).IntN(len(effects))]
	e, target, err = excerpt.Take(sessions[0], playback.Window{},
		func(x scheduler.Effect) bool { return x.String() == wanted })
	assert.NilError(t, err)
	for !slices.Contains(made[len(made)-1], wanted) {
		made = made[:len(made)-1]
	}
	return e, target, made
}

// oneLine is how an effect is on one line of an excerpt.
var oneLine = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)

// parsed is an excerpt that was written and read.
func parsed(t *testing.T, e *excerpt.Excerpt) (again *excerpt.Excerpt, text string) {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, e.Write(&b))
	again, err := excerpt.Parse(b.Bytes())
	assert.NilError(t, err, b.String())
	return again, b.String()
}

func TestRandomRuns_ExcerptIsRead(t *testing.T) {
	steps := 0
	eachSeed(t, 100, func(t *testing.T, s randomrun.Run) {
		e, target, made := takeRandom(t, s)
		if e == nil {
			return
		}
		again, text := parsed(t, e)
		want, err := e.Replay()
		assert.NilError(t, err)
		got, err := again.Replay()
		assert.NilError(t, err)
		assert.DeepEqual(t, got, want)
		made = made[len(made)-e.Len():]
		for i := 1; i < e.Len(); i++ { // the effects of a first step are also about what was there before
			assert.Equal(t, strings.Join(got.Effects[i], "\x00"), oneLine.Replace(strings.Join(made[i], "\x00")))
		}
		assert.Assert(t, slices.Contains(got.Effects[len(got.Effects)-1], target.Text), "%s\n%s", target.Text, text)
		_, textAgain := parsed(t, again)
		assert.Equal(t, textAgain, text)
		steps += e.Len()
	})
	assert.Assert(t, steps > 100, "only %d steps", steps)
}

// A shorter excerpt ends with the same effect, and none of its steps can be left out.
func TestRandomRuns_ExcerptIsShort(t *testing.T) {
	before, after := 0, 0
	eachSeed(t, 60, func(t *testing.T, s randomrun.Run) {
		s.Steps = s.Steps[:min(len(s.Steps), 120)]
		e, target, _ := takeRandom(t, s)
		if e == nil {
			return
		}
		length := e.Len()
		short, complete, err := e.Shorten(target, excerpt.Shortening{MaxReplays: 3000})
		if errors.Is(err, excerpt.ErrAnswers) {
			t.Log(err)
			return
		}
		assert.NilError(t, err)
		assert.Equal(t, e.Len(), length)
		short, text := parsed(t, short)
		made, err := short.Replay()
		assert.NilError(t, err)
		assert.Assert(t, slices.Contains(made.Effects[len(made.Effects)-1], target.Text), "%s\n%s", target.Text, text)
		before, after = before+length, after+short.Len()
		if !complete {
			return
		}
		again, _, err := short.Shorten(target, excerpt.Shortening{MaxReplays: 3000})
		assert.NilError(t, err)
		assert.Equal(t, again.Len(), short.Len(), "%s", text)
	})
	t.Logf("%d of %d steps are left", after, before)
	assert.Assert(t, after*4 < before, "%d of %d steps are left", after, before)
}
