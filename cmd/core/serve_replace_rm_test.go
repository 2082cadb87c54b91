package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"gotest.tools/v3/assert"
)

// With --replace-rm a resource manager takes over from a connected one, and log, metric and event record say so
// (RMI-77, RMI-78). Without the flag it is refused.
func TestServe_ReplaceRM(t *testing.T) {
	program := buildProgram(t)
	p, s := startServing(t, program, "--replace-rm")
	former := s.openStreamOf("blue")
	s.openStreamOf("green")
	assert.Assert(t, former.RecvMsg(&emptypb.Empty{}) != nil, "the stream of the former one has ended")
	assert.ErrorContains(t, s.register("blue"), "RM green has been registered before")
	_, body := s.get("/ws/v1/metrics")
	assert.Assert(t, strings.Contains(body, "canopy_resource_manager_replacements_total 1\n"), body)
	_, body = s.get("/ws/v1/events/batch")
	assert.Assert(t, strings.Contains(body, "Everything was removed: resource manager green replaced blue: it"), body)
	p.stop()
	assert.Equal(t, strings.Count(p.logs.String(), "resource manager replaced"), 1, p.logs.String())

	p, s = startServing(t, program)
	s.openStreamOf("blue")
	assert.Equal(t, status.Code(s.register("green")), codes.FailedPrecondition)
	p.stop()
}
