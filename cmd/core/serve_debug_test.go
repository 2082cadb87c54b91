package main

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

func TestServe_NoDebugByDefault(t *testing.T) {
	p, s := startServing(t, buildProgram(t))
	for _, path := range []string{"/debug/stack", "/debug/pprof/", "/debug/pprof/heap", "/ws/v1/stack"} {
		code, body := s.get(path)
		assert.Equal(t, code, http.StatusNotFound, path)
		assert.Assert(t, strings.Contains(body, "is served only with --debug"), body)
	}
	code, body := s.get("/ws/v1/fullstatedump")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.HasPrefix(body, "{\n  \"timestamp\": "), body)
	assert.Assert(t, strings.Contains(body, `"logLevel": "info"`), body)
	stream, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(s.ctx)
	assert.NilError(t, err)
	_, err = stream.Recv()
	assert.Equal(t, status.Code(err), codes.Unimplemented)
	p.stop()
}
