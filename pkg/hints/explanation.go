package hints

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// explain returns the explanations of the asks that are still pending.
func (s *Server) explain(ctx context.Context, jobs []job) (answers []answer, err error) {
	for _, j := range jobs {
		l, ok := s.cluster.Partition(j.ask.partition)
		if !ok {
			continue // a reload has removed it
		}
		e, err := l.Explain(ctx, j.ask.key)
		switch {
		case errors.Is(err, loop.ErrEnded):
			continue
		case err != nil:
			return nil, err
		case e.State == scheduler.KeyPending:
			answers = append(answers, answer{job: j, explanation: e})
		}
	}
	return answers, nil
}

// forecast adds the expected starts to answers.
func (s *Server) forecast(ctx context.Context, answers []answer) error {
	keys := map[string][]objects.AllocationKey{}
	for _, x := range answers {
		keys[x.ask.partition] = append(keys[x.ask.partition], x.ask.key)
	}
	starts := map[askID]*canopyv1.ExpectedStart{}
	for partition, keys := range keys {
		made, err := s.opt.Forecasts.Starts(ctx, partition, keys,
			func(ctx context.Context) (forecast.State, error) { return s.state(ctx, partition) })
		switch {
		case errors.Is(err, loop.ErrEnded):
			continue
		case err != nil:
			return err
		}
		for key, a := range made {
			if a.Code != forecast.Busy && a.Code != forecast.NotPending { // else it is tried again
				starts[askID{partition, key}] = expectedStart(&a)
			}
		}
	}
	for i := range answers {
		answers[i].expected = starts[answers[i].ask.askID]
	}
	return nil
}

// state returns a partition as it is; loop.ErrEnded: a reload has removed it.
func (s *Server) state(ctx context.Context, partition string) (forecast.State, error) {
	l, ok := s.cluster.Partition(partition)
	if !ok {
		return forecast.State{}, loop.ErrEnded
	}
	snap, err := l.Snapshot(ctx)
	if err != nil {
		return forecast.State{}, err
	}
	st, ok := forecast.NewState(snap, s.cluster.Config(), s.opt.Lifetimes)
	if !ok {
		return st, loop.ErrEnded
	}
	return st, nil
}

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 4 << 10

// explained is a state with its explanation.
func explained(plain *canopyv1.WaitingState, e *scheduler.Explanation) *canopyv1.WaitingState {
	m := proto.CloneOf(plain)
	if m.State == canopyv1.WaitingState_STATE_FAILED {
		m.Reason = e.Verdict.Reason.Code()
	}
	m.Message = e.Message
	if len(m.Message) > maxMessage {
		m.Message = m.Message[:maxMessage]
	}
	m.Message = strings.ToValidUTF8(m.Message, "?")
	for _, l := range e.Ranks {
		m.Rank = append(m.Rank, &canopyv1.Rank{Kind: string(l.Kind), In: l.In, Position: int32(l.Position),
			Of: int32(l.Of)})
	}
	return m
}

func expectedStart(a *forecast.Answer) *canopyv1.ExpectedStart {
	m := &canopyv1.ExpectedStart{MadeAt: timestamppb.New(a.At)}
	if !a.Known() {
		m.Unknown = a.Code.String()
		return m
	}
	at := func(after time.Duration) *timestamppb.Timestamp {
		if after == forecast.Missing {
			return nil
		}
		return timestamppb.New(a.At.Add(after))
	}
	m.P10, m.P50, m.P90 = at(a.P10), at(a.P50), at(a.P90)
	return m
}

// moved reports whether a forecast differs from the last one by a tenth of the time until the start, or otherwise.
func moved(last, now *canopyv1.ExpectedStart) bool {
	if last == nil || last.Unknown != now.Unknown {
		return true
	}
	for _, p := range [][2]*timestamppb.Timestamp{{last.P10, now.P10}, {last.P50, now.P50}, {last.P90, now.P90}} {
		if p[0] == nil || p[1] == nil {
			if p[0] != p[1] {
				return true
			}
			continue
		}
		until := p[1].AsTime().Sub(now.MadeAt.AsTime())
		if off := p[1].AsTime().Sub(p[0].AsTime()).Abs(); off > 0 && 10*off >= until {
			return true
		}
	}
	return false
}
