package canopy

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// The metadata of gRPC and the header of HTTP that say which member has answered, and where the leader is (docs/HA.md).
const (
	epochKey    = "canopy-epoch"  // in the headers of each answer of a leader: its epoch
	leaderKey   = "canopy-leader" // in the trailers of each answer of a standby: HOST:PORT of the leader, if it is known
	epochHeader = "Canopy-Epoch"
)

// serverTerm holds what a Member gives to the Server of a term. nil: the Server is alone, and the methods change
// nothing.
type serverTerm struct {
	*election.Term
	listeners listeners
	security  *security
	stores    *etcdStores   // nil: the members share nothing
	refresh   time.Duration // between two reads of where the other groups are
}

// unaryInterceptor puts the epoch into the headers of the answer (HA-6).
func (t *serverTerm) unaryInterceptor(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (any, error) {
	if t != nil {
		_ = grpc.SetHeader(ctx, t.metadata()) // it fails only in a call that has ended
	}
	return next(ctx, request)
}

// streamInterceptor puts the epoch into the headers of the stream, which come with its first answer (HA-6).
func (t *serverTerm) streamInterceptor(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	if t != nil {
		_ = stream.SetHeader(t.metadata())
	}
	return next(server, stream)
}

func (t *serverTerm) metadata() metadata.MD {
	return metadata.Pairs(epochKey, strconv.FormatInt(t.Epoch(), 10))
}

// withEpoch puts the epoch into the headers of all answers of h (HA-6).
func (t *serverTerm) withEpoch(h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(epochHeader, strconv.FormatInt(t.Epoch(), 10))
		h.ServeHTTP(w, r)
	})
}
