package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// An open event stream does not delay the end of the process.
func TestServe_Events(t *testing.T) {
	p, s := startServing(t, buildProgram(t))
	code, body := s.get("/ws/v1/events/batch")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.Contains(body, `"LowestID":0,"HighestID":0,"EventRecords":null`), body)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.http+"/ws/v1/events/stream", nil)
	assert.NilError(t, err)
	response, err := s.client.Do(request)
	assert.NilError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	assert.Assert(t, lines.Scan())
	assert.Assert(t, strings.Contains(lines.Text(), "InstanceUUID"), lines.Text())
	p.stop()
	assert.Assert(t, !lines.Scan() && lines.Err() == nil, "%v", lines.Err())
}
