package main

import (
	"context"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"gotest.tools/v3/assert"
)

// Clients that keep calls to health open end each other, not the next check (RMI-43).
func TestServe_HealthIsNotKeptOutByOpenCalls(t *testing.T) {
	p, s := startServing(t, buildProgram(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first healthpb.Health_WatchClient
	for range 20 {
		w, err := healthpb.NewHealthClient(s.conn).Watch(ctx, &healthpb.HealthCheckRequest{})
		assert.NilError(t, err)
		_, err = w.Recv()
		assert.NilError(t, err)
		if first == nil {
			first = w
		}
	}
	assert.Equal(t, s.healthOf(""), healthpb.HealthCheckResponse_SERVING)
	_, err := first.Recv()
	assert.Assert(t, err != nil, "the oldest call has ended")
	p.stop()
}
