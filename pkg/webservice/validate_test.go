package webservice_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
)

type verdict struct {
	Allowed  bool
	Reason   string
	Warnings []string
}

func TestValidate_WhateverTheTextIs(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	validate := func(text string, headers ...string) (v verdict) {
		t.Helper()
		w := o.send(o.handler, http.MethodPost, "/ws/v1/validate-conf", text, headers...)
		assert.Equal(t, w.Code, http.StatusOK)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &v))
		return v
	}
	before := o.reloads.Current().Number
	assert.DeepEqual(t, validate(clusterYAML).Allowed, true)
	assert.Equal(t, validate(clusterYAML, "Content-Type", "application/json").Reason, "", "a shim may send any type")

	bad := validate("partitions:\n- name: default\n  queues:\n  - {name: root, queues: [{name: a, resources: {max: " +
		"{vcore: -1}}}, {name: a}]}\n")
	assert.Assert(t, !bad.Allowed)
	for _, part := range []string{"vcore", "root.a"} { // all errors, not the first
		assert.Assert(t, strings.Contains(bad.Reason, part), bad.Reason)
	}
	assert.Assert(t, validate("").Allowed, "a resource manager may send it (CFG-8)")
	assert.Assert(t, !validate(" ").Allowed && validate(" ").Reason != "")
	assert.Assert(t, !validate("a: [").Allowed)
	assert.Equal(t, validate(strings.Repeat("#", 10_001)).Reason,
		"the configuration is longer than max-config-bytes (10000)")
	assert.Equal(t, o.reloads.Current().Number, before, "the configuration in force has changed")
}

// Clients that send long texts slowly do not make the scheduler hold all of them.
func TestValidate_BoundsTheTextsThatAreHeld(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	const path, long = "/ws/v1/validate-conf", 9_000 // of at most 10,000 bytes
	var slow []*io.PipeWriter
	var statuses sync.WaitGroup
	var served atomic.Int32
	for range 4 {
		r, w := io.Pipe()
		slow = append(slow, w)
		statuses.Go(func() {
			answer := httptest.NewRecorder()
			o.handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, r))
			if answer.Code == http.StatusOK {
				served.Add(1)
			}
		})
		_, err := w.Write(bytes.Repeat([]byte("#"), long))
		assert.NilError(t, err)
		_, err = w.Write(nil) // it is read when the text before it is counted
		assert.NilError(t, err)
	}
	assert.Equal(t, o.send(o.handler, http.MethodPost, path, strings.Repeat("#", long)).Code,
		http.StatusServiceUnavailable)
	for _, w := range slow {
		assert.NilError(t, w.Close())
	}
	statuses.Wait()
	assert.Equal(t, served.Load(), int32(4))
	assert.Equal(t, o.send(o.handler, http.MethodPost, path, strings.Repeat("#", long)).Code, http.StatusOK,
		"what was held is released")
}

func TestValidate_IsRefusedToWebPagesOfAnotherOrigin(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	w := o.send(o.handler, http.MethodPost, "/ws/v1/validate-conf", clusterYAML, "Sec-Fetch-Site", "cross-site")
	assert.Equal(t, w.Code, http.StatusForbidden)
	assert.Equal(t, o.send(o.handler, http.MethodGet, "/ws/v1/validate-conf", "").Code, http.StatusMethodNotAllowed)
}
