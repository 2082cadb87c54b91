package canopy

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

// The interceptors of the server call recovered; other goroutines are covered in rmproxy (RMI-6).
func TestGRPCServer_PanicEndsTheCallOnly(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	s := &Server{log: zap.New(core)}
	err := s.recovered("a fault")
	assert.Equal(t, status.Code(err), codes.Internal)
	assert.ErrorContains(t, err, "the scheduler could not serve the call")
	panics := logs.FilterMessage("panic in a call").All()
	assert.Equal(t, len(panics), 1)
	assert.Equal(t, panics[0].ContextMap()["panic"], "a fault")
	assert.Assert(t, panics[0].ContextMap()["stack"] != "")
}
