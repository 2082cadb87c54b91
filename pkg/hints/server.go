package hints

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ServiceName is the name of the gRPC service, for health and roles.
const ServiceName = "canopy.v1.Hints"

// Source has the waiting states of the asks of the registered resource manager.
type Source interface {
	// WatchWaitingStates calls serve with the states of the asks of a resource manager, and returns when serve has
	// returned or the watch has ended: then serve must return soon. The error has a gRPC status code.
	WatchWaitingStates(ctx context.Context, rm string, serve func(Watch) error) error
}

// Watch has the waiting states that were not sent yet. Only the goroutine of serve may use it.
type Watch interface {
	// Context ends with the watch; its cause says why.
	Context() context.Context
	// Changed holds a value while Next may have a state, or InitialComplete another value.
	Changed() <-chan struct{}
	// Next returns the state of the next ask to send; ok is false if there is none.
	Next() (c Change, ok bool)
	// InitialComplete reports whether Next has returned all states that there were when the watch began.
	InitialComplete() bool
	// Send calls send, which sends a message. The watch ends if that takes too long, because the client does not read.
	Send(send func() error) error
}

// Change is the waiting state that an ask has now. objects.WaitUnreported: it has none, because it was placed or has
// ended, or is nominated.
type Change struct {
	Partition string
	scheduler.WaitingAsk
	Nominated objects.NodeID // the node on which its victims end; empty: it has none
}

// Options say what explanations have.
type Options struct {
	Forecasts *forecast.Forecaster // of expected starts; nil: there are none
	Lifetimes lifecycle.Lifetimes  // of applications in forecasts
}

// Server implements canopyv1.HintsServer. It is safe for concurrent use.
type Server struct {
	canopyv1.UnimplementedHintsServer
	source  Source
	cluster *loop.Cluster // is asked for explanations
	opt     Options
}

// New returns a Server for the asks of a cluster whose waiting states source has.
func New(source Source, cluster *loop.Cluster, opt Options) *Server {
	return &Server{source: source, cluster: cluster, opt: opt}
}

// minRefresh is the shortest time between two explanations of an ask whose state has not changed.
const minRefresh = 10 * time.Second

// WaitingStates serves a stream (RMI-85 to RMI-89).
func (s *Server) WaitingStates(r *canopyv1.WaitingStatesRequest,
	stream grpc.ServerStreamingServer[canopyv1.WaitingStatesResponse]) error {
	refresh, err := checkRequest(r)
	if err != nil {
		return err
	}
	return s.source.WatchWaitingStates(stream.Context(), r.RmId, func(w Watch) error {
		ctx, cancel := context.WithCancel(w.Context())
		out := &sender{stream: stream, watch: w, explainer: s.newExplainer(r.Explain, refresh)}
		defer out.explainer.running.Wait()
		defer cancel()
		return out.run(ctx)
	})
}

// checkRequest returns the time after which asks are explained again; 0: they are not.
func checkRequest(r *canopyv1.WaitingStatesRequest) (refresh time.Duration, err error) {
	if r.RmId == "" {
		return 0, status.Error(codes.InvalidArgument, "rm_id is empty: must be the ID of the registered resource manager")
	}
	if r.Refresh == nil || r.Refresh.Seconds == 0 && r.Refresh.Nanos == 0 {
		return 0, nil
	}
	if err := r.Refresh.CheckValid(); err != nil {
		return 0, status.Errorf(codes.InvalidArgument, "refresh is malformed: %v", err)
	}
	refresh = r.Refresh.AsDuration()
	switch {
	case refresh < minRefresh:
		return 0, status.Errorf(codes.InvalidArgument, "refresh is %v: must be 0 or at least %v", refresh, minRefresh)
	case !r.Explain:
		return 0, status.Error(codes.InvalidArgument, "refresh needs explain: without it nothing is sent again")
	}
	return refresh, nil
}
