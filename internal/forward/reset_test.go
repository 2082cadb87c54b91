package forward

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

// newCallTo returns a function that calls a server of HTTP/2 in this process through a forwarder.
func newCallTo(t *testing.T, h http.Handler) func() error {
	t.Helper()
	pipe := NewPipeListener()
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(pipe) })
	t.Cleanup(func() { _ = s.Close(); serving.Wait() })
	f := New(Options{Self: self, Routes: routesFunc(func(partition string) (Route, error) {
		return Route{Partition: partition, Dial: pipe.Dial}, nil
	})})
	client := si.NewSchedulerClient(newClient(t, serveCalls(t, f, nil), nil))
	return func() error {
		stream, err := client.UpdateNode(bounded(t))
		assert.NilError(t, err)
		_, err = stream.Recv()
		return err
	}
}

func TestGRPC_ResetStreams(t *testing.T) {
	for _, afterHeaders := range []bool{false, true} {
		call := newCallTo(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if afterHeaders {
				w.Header().Set("Content-Type", "application/grpc")
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler) // resets the stream with INTERNAL_ERROR
		}))
		assert.Equal(t, status.Code(call()), codes.Internal)
	}
	x := &exchange{in: &http.Request{Header: http.Header{}}}
	lost := &refusal{code: codes.Unavailable}
	for reset, want := range map[uint32]codes.Code{0: codes.Internal, 2: codes.Internal, 7: codes.Unavailable, 8: codes.Canceled, 11: codes.ResourceExhausted} {
		assert.Equal(t, lost.reset(x, fmt.Errorf("read: %w", streamError{Code: reset})).code, want, "%d", reset)
	}
	x.in.Header.Set("grpc-timeout", "1S")
	assert.Equal(t, lost.reset(x, streamError{Code: 8}).code, codes.DeadlineExceeded)
	assert.Equal(t, lost.reset(x, errors.New("connection reset")), lost)
	ended := &refusal{code: codes.Canceled}
	assert.Equal(t, ended.reset(x, streamError{Code: 2}), ended)
}

// Trailers that a server announces are passed on as others are.
func TestGRPC_AnnouncedTrailers(t *testing.T) {
	call := newCallTo(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("Grpc-Status", "10")
		w.Header().Set("Grpc-Message", "announced")
	}))
	err := call()
	assert.Equal(t, status.Code(err), codes.Aborted)
	assert.Equal(t, status.Convert(err).Message(), "announced")
}

// Another member that speaks no HTTP/2 is not taken for one that answers calls.
func TestGRPC_OtherMemberNeedsHTTP2(t *testing.T) {
	server, client := certificates(t)
	server.NextProtos = []string{"http/1.1"}
	l := newTCPListener(t)
	serveWeb(t, l, http.NotFoundHandler(), server)
	c := newChain(t, secured, &fake{}, func(o *Options) { o.TLS = client })
	c.route = Route{Address: l.Addr().String()}
	stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
	assert.NilError(t, err)
	_, err = stream.Recv()
	wantUnavailable(t, err, stream.Trailer(), c.route.Address, "cannot be reached")

	var verified bool
	own := onlyHTTP2(&tls.Config{VerifyConnection: func(tls.ConnectionState) error { verified = true; return nil }})
	assert.NilError(t, own.VerifyConnection(tls.ConnectionState{NegotiatedProtocol: "h2"}))
	assert.Assert(t, verified)
}
