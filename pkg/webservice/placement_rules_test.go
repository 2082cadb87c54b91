package webservice_test

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPlacementRules_OfEachPartition(t *testing.T) {
	o := newAdminFixture(t, `
partitions:
- name: default
  placementrules:
  - {name: tag, value: namespace, create: true, parent: {name: fixed, value: root.Tenants}}
  - {name: user, filter: {type: deny, users: [ann, bob], groups: [dev.*]}}
  queues: [{name: root, submitacl: '*', queues: [{name: tenants, parent: true}]}]
- name: plain
  queues: [{name: root, submitacl: '*'}]
`)
	get := func(partition string) string {
		t.Helper()
		w := o.send(o.handler, http.MethodGet, "/ws/v1/partition/"+partition+"/placementrules", "")
		assert.Equal(t, w.Code, http.StatusOK)
		return w.Body.String()
	}
	const recovery = `{"name":"recovery","parameters":{"queue":"root.@recovery@"}}]`
	for range 2 { // the second time from the cache
		assert.Equal(t, get("default"), `[{"name":"tag","parameters":{"create":"true","tagName":"namespace"},`+
			`"parentRule":{"name":"fixed","parameters":{"create":"false","queue":"root.tenants"}}},`+
			`{"name":"user","parameters":{"create":"false"},"filter":{"type":"deny","userList":["ann","bob"],`+
			`"groupExp":"dev.*"}},`+recovery)
	}
	assert.Equal(t, get("plain"), `[{"name":"provided","parameters":{"create":"false"}},`+recovery)

	w := o.post("partitions:\n- name: default\n  placementrules: [{name: provided, create: true}]\n  queues: [{name: " +
		"root, submitacl: '*'}]\n- {name: plain, queues: [{name: root}]}\n")
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	assert.Equal(t, get("default"), `[{"name":"provided","parameters":{"create":"true"}},`+recovery)
	assert.Equal(t, o.send(o.handler, http.MethodGet, "/ws/v1/partition/none/placementrules", "").Code,
		http.StatusNotFound)
}
