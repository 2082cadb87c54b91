package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

var preemptionRoutes = routeSection{"Preemption", []routeInfo{
	{
		pattern: "GET /ws/v1/partition/{partition}/preemptions", summary: "The preemptions that are kept, the newest first",
		answer: dao.PreemptionList{}, errors: ofPartition,
		query: []queryParameter{
			{name: "application", help: "preemptions for or of this application"},
			{name: "queue", help: "preemptions for or in this queue and those below"},
			{name: "reason", help: "preemptions for this reason", values: dao.ReasonNames[:]},
			{name: "limit", help: "how many at most, the newest first; default 100", kind: "integer"},
		},
		example: "/ws/v1/partition/default/preemptions",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/preemptions/{number}",
		summary: "One preemption, with the candidates on its node", answer: dao.Preemption{}, errors: ofPartition,
	},
	{
		pattern: "POST /ws/v1/partition/{partition}/preemptions/dry-run",
		summary: "What a hypothetical ask, or a pending one, would preempt; nothing changes", answer: dao.DryRunResult{},
		body: &requestBody{help: "the ask; 64 KiB at most", media: dryRunTypes, value: dao.DryRunRequest{}},
		errors: []int{
			http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
			http.StatusUnprocessableEntity, http.StatusServiceUnavailable,
		},
	},
}}

// Statuses of the errors of changes on the admin listener.
var ofChange = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusServiceUnavailable,
}

var ofObjectChange = append([]int{http.StatusUnprocessableEntity}, ofChange...)

var configRoutes = routeSection{"Configuration", []routeInfo{
	{
		pattern: "GET /ws/v1/config", origin: yunikornRoute,
		summary: "The configuration in force: YAML, or JSON if the request accepts that; the header ETag has its generation",
		answer:  dao.Config{}, media: []string{yamlType, jsonType}, example: "/ws/v1/config",
	},
	{
		pattern: "POST /ws/v1/config",
		summary: "Puts a configuration in force, on the admin listener; If-Match makes it conditional on the generation",
		answer:  dao.Reload{},
		body:    &requestBody{help: "the text of a queues.yaml", media: yamlContentTypes}, errors: ofChange,
		errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}},
	},
	{
		pattern: "POST /ws/v1/config/rollback/{generation}",
		summary: "Puts the text of an earlier generation in force again, on the admin listener", answer: dao.Reload{},
		errors: ofChange, errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}},
	},
	{pattern: "GET /ws/v1/config/history", summary: "The generations that are kept, the latest first",
		answer: []dao.Generation{}, example: "/ws/v1/config/history"},
	{
		pattern: "GET /ws/v1/config/history/{generation}", summary: "One generation with its text",
		answer: dao.GenerationDetail{}, errors: []int{http.StatusBadRequest, http.StatusNotFound},
		example: "/ws/v1/config/history/1",
	},
	{
		pattern: "POST /ws/v1/plan",
		summary: "What a configuration would change, and mean for the allocations there are; nothing changes",
		answer:  configPlanBody{},
		body:    &requestBody{help: "the text of a queues.yaml", media: nil},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge,
			http.StatusServiceUnavailable},
		errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}},
	},
	{
		pattern: "POST /ws/v1/validate-conf", origin: yunikornRoute,
		summary: "Whether a configuration would be accepted; nothing changes", answer: dao.Validation{},
		body:   &requestBody{help: "the text of a queues.yaml"},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusServiceUnavailable},
	},
}}

var objectRouteTable = routeSection{"Priority classes and disruption budgets", []routeInfo{
	{pattern: "GET /ws/v1/priorityclasses", summary: "The priority classes; YAML if the request accepts that",
		answer: []classBody{}, media: []string{jsonType, yamlType}, example: "/ws/v1/priorityclasses"},
	{pattern: "GET /ws/v1/priorityclass/{name}", summary: "One priority class", answer: classBody{},
		media: []string{jsonType, yamlType}, errors: []int{http.StatusBadRequest, http.StatusNotFound},
		errorBodies: map[int]any{http.StatusNotFound: objectFailure{}}, example: "/ws/v1/priorityclass/system-node-critical"},
	objectChange("POST /ws/v1/priorityclasses", "Creates a priority class, on the admin listener", http.StatusCreated,
		classBody{}, changedClassBody{}),
	objectChange("PUT /ws/v1/priorityclass/{name}", "Replaces a priority class, on the admin listener", 0, classBody{},
		changedClassBody{}),
	objectChange("DELETE /ws/v1/priorityclass/{name}", "Deletes a priority class, on the admin listener", 0, nil,
		changedClassBody{}),
	{pattern: "GET /ws/v1/disruptionbudgets",
		summary: "The disruption budgets with their counts; YAML if the request accepts that", answer: []dao.Budget{},
		media: []string{jsonType, yamlType},
		query: []queryParameter{namespaceParameter}, errors: []int{http.StatusServiceUnavailable},
		example: "/ws/v1/disruptionbudgets"},
	{pattern: "GET /ws/v1/disruptionbudget/{name}", summary: "One disruption budget", answer: dao.Budget{},
		media: []string{jsonType, yamlType}, query: []queryParameter{namespaceParameter}, errors: ofPartition,
		errorBodies: map[int]any{http.StatusNotFound: objectFailure{}}},
	objectChange("POST /ws/v1/disruptionbudgets", "Creates a disruption budget, on the admin listener", http.StatusCreated,
		dao.Budget{}, changedBudgetBody{}, namespaceParameter),
	objectChange("PUT /ws/v1/disruptionbudget/{name}", "Replaces a disruption budget, on the admin listener", 0,
		dao.Budget{}, changedBudgetBody{}, namespaceParameter),
	objectChange("DELETE /ws/v1/disruptionbudget/{name}", "Deletes a disruption budget, on the admin listener", 0, nil,
		changedBudgetBody{}, namespaceParameter),
}}

// objectChange describes a change of a named object.
func objectChange(pattern, summary string, status int, sent, answer any, query ...queryParameter) routeInfo {
	info := routeInfo{pattern: pattern, summary: summary, status: status, answer: answer, query: query,
		errors: ofObjectChange, errorBodies: map[int]any{}}
	for _, n := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusUnprocessableEntity} {
		info.errorBodies[n] = objectFailure{}
	}
	if sent != nil {
		info.body = &requestBody{help: "the object, in this form or in that of Kubernetes; 1 MiB at most",
			media: objectContentTypes, value: sent}
	}
	return info
}

var eventRoutes = routeSection{"Events", []routeInfo{
	{
		pattern: "GET /ws/v1/events/batch", origin: yunikornRoute,
		summary: "Records of the event history from an ID on, by default the oldest that is kept", answer: dao.EventBatch{},
		query: []queryParameter{
			{name: "start", help: "the ID of the first record", kind: "integer"}, countParameter, sinceParameter,
			{name: "until", help: "records before this time: RFC 3339, or a duration before now such as 1m"},
		},
		errors: []int{http.StatusBadRequest, http.StatusInternalServerError}, example: "/ws/v1/events/batch?count=1",
	},
	{
		pattern: "GET /ws/v1/events/stream", origin: yunikornRoute,
		summary: "Records as they come, a line of JSON each; the first line has the InstanceUUID",
		query:   []queryParameter{countParameter, sinceParameter},
		errors:  []int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable},
	},
}}

// configPlanBody has the JSON of plan.Plan under a name of its own: a plan of victims is another thing.
type configPlanBody plan.Plan

var liveRoutes = routeSection{"Changes", []routeInfo{{
	pattern: "GET /ws/v1/live",
	summary: "Server-sent events for pages: numbers that grow when queues, applications, nodes, events or the " +
		"configuration have changed, at most once a second",
	media: []string{"text/event-stream"}, errors: []int{http.StatusServiceUnavailable},
}}}

var healthRoutes = routeSection{"Health and metrics", []routeInfo{
	{pattern: "GET /healthz", summary: "Liveness, from memory", answer: dao.Health{},
		errors: []int{http.StatusServiceUnavailable}, errorBodies: map[int]any{http.StatusServiceUnavailable: dao.Health{}},
		example: "/healthz"},
	{pattern: "GET /readyz", summary: "Readiness", answer: dao.Ready{}, errors: []int{http.StatusServiceUnavailable},
		errorBodies: map[int]any{http.StatusServiceUnavailable: dao.Ready{}}, example: "/readyz"},
	{pattern: "GET /ws/v1/scheduler/healthcheck", origin: yunikornRoute,
		summary: "Ten checks of the scheduler; status 200 whatever they find", answer: dao.HealthCheck{},
		example: "/ws/v1/scheduler/healthcheck"},
	{pattern: "GET /ws/v1/metrics", origin: yunikornRoute, summary: "The metrics, for Prometheus",
		media: []string{textType}},
	{pattern: "GET /metrics", summary: "The same", media: []string{textType}},
}}

var diagnosticRoutes = routeSection{"Description and diagnostics", []routeInfo{
	{pattern: "GET " + openAPIPath, summary: "The description of the interface, OpenAPI 3.1"},
	{pattern: "GET " + stateDumpPath, origin: yunikornRoute,
		summary: "Everything that REST shows, in one indented document", answer: dao.StateDump{},
		errors: []int{http.StatusServiceUnavailable}},
	{pattern: "GET /ws/v1/fullstatedump", origin: yunikornRoute, summary: "Leads to /debug/fullstatedump",
		status: http.StatusMovedPermanently, media: []string{}},
	{pattern: "GET /debug/stack", origin: yunikornRoute, summary: "The stacks of all goroutines, with --debug",
		media: []string{textType}, errors: []int{http.StatusNotFound}},
	{pattern: "GET /ws/v1/stack", origin: yunikornRoute, summary: "Leads to /debug/stack",
		status: http.StatusMovedPermanently, media: []string{}},
	{pattern: "GET /debug/pprof/{$}", origin: yunikornRoute, summary: "The names of the profiles, with --debug",
		media: []string{textType}, errors: []int{http.StatusNotFound}},
	{
		pattern: "GET /debug/pprof/{profile}", origin: yunikornRoute, summary: "A profile for go tool pprof, with --debug",
		media: []string{binaryType, textType},
		query: []queryParameter{
			{name: "seconds", help: "how long profile (default 30) or trace (default 1) records, 300 at most", kind: "integer"},
			{name: "debug", help: "1 or 2: as text", kind: "integer"},
			{name: "gc", help: "1: of heap, after a garbage collection"},
		},
		errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
	},
	{
		pattern: "POST /debug/pprof/symbol", origin: yunikornRoute,
		summary: "The names of the functions of addresses, with --debug", media: []string{textType},
		body:   &requestBody{help: "addresses: 0x1234+0x5678; 64 KiB at most"},
		errors: []int{http.StatusNotFound, http.StatusRequestEntityTooLarge},
	},
}}
