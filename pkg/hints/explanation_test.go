package hints

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestExpectedStart_OfAnswers(t *testing.T) {
	at := func(minutes int) *timestamppb.Timestamp {
		return timestamppb.New(noon.Add(time.Duration(minutes) * time.Minute))
	}
	for _, c := range []struct {
		answer forecast.Answer
		want   *canopyv1.ExpectedStart
	}{
		{forecast.Answer{Code: forecast.Expected, At: noon, P10: time.Minute, P50: 2 * time.Minute, P90: 3 * time.Minute},
			&canopyv1.ExpectedStart{MadeAt: at(0), P10: at(1), P50: at(2), P90: at(3)}},
		{forecast.Answer{Code: forecast.Expected, At: noon, P10: time.Minute, P50: 2 * time.Minute, P90: forecast.Missing},
			&canopyv1.ExpectedStart{MadeAt: at(0), P10: at(1), P50: at(2)}},
		{forecast.Answer{Code: forecast.BeyondHorizon, At: noon, P10: time.Minute, P50: forecast.Missing,
			P90: forecast.Missing}, &canopyv1.ExpectedStart{MadeAt: at(0), Unknown: "beyondHorizon"}},
	} {
		assert.Assert(t, proto.Equal(expectedStart(&c.answer), c.want), "%v", expectedStart(&c.answer))
	}
}

// A forecast has moved if a time is off by a tenth of the time until then.
func TestMoved(t *testing.T) {
	start := func(made int, seconds ...int) *canopyv1.ExpectedStart {
		at := func(n int) *timestamppb.Timestamp { return timestamppb.New(noon.Add(time.Duration(n) * time.Second)) }
		m := &canopyv1.ExpectedStart{MadeAt: at(made), P10: at(seconds[0]), P50: at(seconds[1])}
		if len(seconds) == 3 {
			m.P90 = at(seconds[2])
		}
		return m
	}
	unknown := &canopyv1.ExpectedStart{MadeAt: timestamppb.New(noon), Unknown: "tooLarge"}
	for _, c := range []struct {
		last, now *canopyv1.ExpectedStart
		moved     bool
	}{
		{nil, unknown, true},
		{unknown, unknown, false},
		{unknown, start(0, 1, 2), true},
		{start(0, 100, 200, 300), start(50, 100, 200, 300), false},
		{start(0, 100, 200, 300), start(0, 109, 219, 329), false},
		{start(0, 100, 200, 300), start(0, 100, 200, 334), true},
		{start(0, 100, 200, 300), start(0, 90, 200, 300), true},
		{start(0, 100, 200, 300), start(95, 101, 200, 300), true},
		{start(0, 100, 200, 300), start(0, 100, 200), true},
		{start(0, 100, 200), start(0, 100, 200), false},
	} {
		assert.Equal(t, moved(c.last, c.now), c.moved, "%v, %v", c.last, c.now)
	}
}

// An ask is sent again if the explanation is another one, or its expected start has moved; that is kept for
// explanations without one.
func TestWaitingAsk_IsSentIfItSaysSomethingElse(t *testing.T) {
	a := &waitingAsk{}
	plain := &canopyv1.WaitingState{State: canopyv1.WaitingState_STATE_FAILED}
	update := func(message string, start *canopyv1.ExpectedStart) *canopyv1.WaitingState {
		return a.update(answer{job{a, plain}, &scheduler.Explanation{Message: message}, start})
	}
	in := func(minutes int) *canopyv1.ExpectedStart {
		return &canopyv1.ExpectedStart{MadeAt: timestamppb.New(noon),
			P50: timestamppb.New(noon.Add(time.Duration(minutes) * time.Minute))}
	}
	assert.Equal(t, update("why", nil).Message, "why")
	assert.Assert(t, update("why", nil) == nil)
	assert.Assert(t, proto.Equal(update("why", in(100)).ExpectedStart, in(100)))
	assert.Assert(t, update("why", in(105)) == nil)
	assert.Assert(t, proto.Equal(update("why else", nil).ExpectedStart, in(100)))
	assert.Assert(t, update("why else", in(109)) == nil, "small steps add up")
	assert.Assert(t, proto.Equal(update("why else", in(118)).ExpectedStart, in(118)))
	assert.Equal(t, plain.Message, "")

	long := update(strings.Repeat("ü", maxMessage), nil).Message
	assert.Assert(t, len(long) <= maxMessage && utf8.ValidString(long))
	assert.Assert(t, utf8.ValidString(update("\xff", nil).Message))
}
