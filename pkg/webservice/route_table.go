package webservice

import (
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The route table has every route: requests are served and their parameters are checked by it, and the description of
// the interface (/ws/v1/openapi.json) and docs/REST.md are made from it (RST-13).

// origin tells routes of YuniKorn from our own. It decides how unknown query parameters are treated.
type origin bool

const (
	canopyRoute   origin = false // an unknown, repeated or empty parameter is refused with status 400
	yunikornRoute origin = true  // it is ignored, counted and named in a Warning header
)

// queryParameter is a parameter of a query.
type queryParameter struct {
	name, help string
	flag       bool     // its presence counts, not its value
	kind       string   // the JSON type of its value; empty: string
	values     []string // the values that it has; none: any
}

// routeInfo describes a route.
type routeInfo struct {
	pattern string // method and path, as it is registered
	serve   serve
	needs   func(*Options) bool // whether the options have what the route shows; nil: they have
	changes bool                // it changes the scheduler, so only the admin listener serves it
	origin  origin
	summary string
	query   []queryParameter
	body    *requestBody // nil: the request has none
	status  int          // of success; 0: 200
	answer  any          // a value of the type of the JSON answer; nil: it is not JSON, or any JSON
	media   []string     // the content types of the answer; nil: JSON
	errors  []int        // statuses of errors that a client has to expect, besides those of all routes
	example string       // a request target that the tests use; empty: none

	errorBodies map[int]any // values of the types of errors that have more than a dao.Error
}

// requestBody describes the body of a request.
type requestBody struct {
	help  string
	media []string // content types; nil: any
	value any      // a value of its type in JSON; nil: a text
}

// routeSection is a part of the route table.
type routeSection struct {
	title  string
	routes []routeInfo
}

// routeSections is the route table, in the order of docs/REST.md.
var routeSections = []routeSection{
	clusterRoutes, nodeRoutes, applicationRoutes, operatorRoutes, usageRoutes, preemptionRoutes, configRoutes,
	objectRouteTable, eventRoutes, liveRoutes, healthRoutes, diagnosticRoutes,
}

// routesByPattern is the route table by pattern.
var routesByPattern = func() map[string]*routeInfo {
	all := map[string]*routeInfo{}
	for _, section := range routeSections {
		for i := range section.routes {
			all[section.routes[i].pattern] = &section.routes[i]
		}
	}
	return all
}()

// pathParameters are the names in paths.
var pathParameters = map[string]string{
	"partition":   "the name of a partition",
	"queue":       "the path of a queue, such as root.team; a slash in a name is %2F or %252F",
	"node":        "the ID of a node",
	"application": "the ID of an application",
	"state":       "active, completed or rejected; of a queue, active",
	"user":        "the name of a user",
	"group":       "the name of a group",
	"key":         "the key of an ask or an allocation",
	"number":      "the number of a preemption, from 1 on",
	"generation":  "the number of a generation of the configuration",
	"name":        "the name of the object",
	"rm":          "the ID of a resource manager",
	"profile":     "allocs, block, cmdline, goroutine, heap, mutex, profile, symbol, threadcreate or trace",
}

// Parameters of several routes.
var (
	statusParameter    = queryParameter{name: "status", help: "active applications in this state", values: activeStatuses}
	namespaceParameter = queryParameter{name: "namespace", help: "the namespace of the budget; default: default"}
	countParameter     = queryParameter{name: "count",
		help: "how many records at most; for a stream, how many past records it begins with", kind: "integer"}
	sinceParameter = queryParameter{name: "since",
		help: "records from this time on: RFC 3339, or a duration before now such as 5m"}
)

// ofPartition are the statuses of errors of what a partition answers, unless a route has others.
var ofPartition = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable}

// withPages are parameters and those of pages.
func withPages(own ...queryParameter) []queryParameter { return append(own, pageParameters...) }

var clusterRoutes = routeSection{"Cluster, partitions and queues", []routeInfo{
	{pattern: "GET /ws/v1/clusters", serve: read((*service).clusters), origin: yunikornRoute,
		summary: "The partitions with the build information of their resource manager", answer: []dao.Cluster{},
		example: "/ws/v1/clusters"},
	{pattern: "GET /ws/v1/partitions", serve: read((*service).partitions), origin: yunikornRoute,
		summary: "The partitions with their totals", answer: []dao.Partition{},
		errors: []int{http.StatusServiceUnavailable}, example: "/ws/v1/partitions"},
	{pattern: "GET /ws/v1/partition/{partition}/queues", serve: ofSnapshot((*service).queues), origin: yunikornRoute,
		summary: "The tree of all queues", answer: dao.Queue{}, example: "/ws/v1/partition/default/queues"},
	{pattern: "GET /ws/v1/partition/{partition}/queue/{queue}", serve: ofSnapshot((*service).oneQueue),
		origin: yunikornRoute, summary: "One queue", answer: dao.Queue{},
		query:   []queryParameter{{name: "subtree", help: "also the queues below; it needs no value", flag: true}},
		example: "/ws/v1/partition/default/queue/root.tenant.fair"},
	{pattern: "GET /ws/v1/partition/{partition}/placementrules", serve: read((*service).placementRules), needs: reloads,
		origin: yunikornRoute, summary: "The placement rules of a partition, and the recovery rule behind them",
		answer: []dao.PlacementRule{}, errors: []int{http.StatusBadRequest, http.StatusNotFound},
		example: "/ws/v1/partition/default/placementrules"},
	{pattern: "GET /ws/v1/partition/{partition}/classquotas", serve: ofSnapshot((*service).classQuotas),
		summary: "The class quotas of a partition and their usage", answer: classQuotasBody{},
		example: "/ws/v1/partition/default/classquotas"},
	{pattern: "GET /ws/v1/history/apps", serve: read((*service).applicationHistory), needs: dayTotals,
		origin: yunikornRoute, summary: "How many applications were running, each minute of the last day",
		answer: []dao.ApplicationSample{}, example: "/ws/v1/history/apps"},
	{pattern: "GET /ws/v1/history/containers", serve: read((*service).containerHistory), needs: dayTotals,
		origin: yunikornRoute, summary: "How many allocations there were, each minute of the last day",
		answer: []dao.ContainerSample{}, example: "/ws/v1/history/containers"},
	{pattern: "GET /ws/v1/resourcemanagers", serve: read((*service).managers), needs: resourceManagers,
		summary: "The registered resource manager", answer: []ResourceManager{}, example: "/ws/v1/resourcemanagers"},
	{pattern: "DELETE /ws/v1/resourcemanager/{rm}", serve: change(nil, (*service).releaseManager),
		needs: resourceManagers, changes: true,
		summary: "Ends the registration of a resource manager, on the admin listener", answer: map[string]string{},
		query:  []queryParameter{{name: "force", help: "also one that is connected", kind: "boolean"}},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict}},
}}

var nodeRoutes = routeSection{"Nodes", []routeInfo{
	{pattern: "GET /ws/v1/partition/{partition}/nodes", serve: ofSnapshot((*service).nodes), origin: yunikornRoute,
		summary: "The nodes with their allocations; a list with pages", answer: []dao.Node{},
		query: withPages(queryParameter{name: "schedulable", help: "only nodes that are schedulable, or are not",
			kind: "boolean"}),
		example: "/ws/v1/partition/default/nodes?limit=1"},
	{pattern: "GET /ws/v1/partition/{partition}/node/{node}", serve: ofSnapshot((*service).node), origin: yunikornRoute,
		summary: "One node", answer: dao.Node{}, example: "/ws/v1/partition/default/node/n2"},
	{pattern: "GET /ws/v1/partition/{partition}/node/{node}/eviction-order", serve: ofSnapshot((*service).evictionOrder),
		summary: "The order in which node pressure would end the allocations of a node", answer: evictionBody{},
		query:   []queryParameter{{name: "resource", help: "what the node lacks"}},
		example: "/ws/v1/partition/default/node/n1/eviction-order"},
	{pattern: "GET /ws/v1/scheduler/node-utilizations", serve: read((*service).nodeUtilizations), origin: yunikornRoute,
		summary: "How many nodes are how full, by resource", answer: []dao.NodeUtilizations{},
		errors: []int{http.StatusServiceUnavailable}, example: "/ws/v1/scheduler/node-utilizations"},
}}

var applicationRoutes = routeSection{"Applications and asks", []routeInfo{
	{pattern: "GET /ws/v1/partition/{partition}/applications/{state}", serve: ofSnapshot((*service).applicationsByState),
		origin: yunikornRoute, summary: "The applications of a partition in a state; a list with pages",
		answer: []dao.Application{}, query: withPages(statusParameter, userParameter),
		example: "/ws/v1/partition/default/applications/active?limit=1"},
	{pattern: "GET /ws/v1/partition/{partition}/application/{application}", serve: read((*service).application),
		origin: yunikornRoute, summary: "One active application", answer: dao.Application{},
		example: "/ws/v1/partition/default/application/app-2"},
	{pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/applications", serve: ofSnapshot((*service).applications),
		origin: yunikornRoute, summary: "The active applications of a queue; a list with pages",
		answer: []dao.Application{}, query: withPages(statusParameter, userParameter),
		example: "/ws/v1/partition/default/queue/root.tenant.odd%252Fname/applications"},
	{pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/applications/{state}",
		serve: ofSnapshot((*service).applicationsByState), origin: yunikornRoute, summary: "The same: the state is active",
		answer: []dao.Application{}, query: withPages(statusParameter, userParameter),
		example: "/ws/v1/partition/default/queue/root.tenant.fair/applications/active?fields=applicationID,applicationState"},
	{pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/application/{application}",
		serve: read((*service).application), origin: yunikornRoute, summary: "One active application of a queue",
		answer: dao.Application{}, example: "/ws/v1/partition/default/queue/root.tenant.fair/application/app-3"},
	{pattern: "GET /ws/v1/partition/{partition}/asks", serve: ofSnapshot((*service).asks),
		summary: "The pending asks of a partition, the longest waiting first; a list with pages", answer: dao.PendingAsks{},
		query: withPages(queryParameter{name: "queue", help: "asks in this queue and those below"},
			queryParameter{name: "application", help: "asks of this application"},
			queryParameter{name: "user", help: "asks of applications of this user"},
			queryParameter{name: "waitingState",
				help: "asks of which the resource manager was told this; reserved: asks that have reserved a " +
					"node, whatever it was told", values: waitingStates},
			queryParameter{name: "olderThan", help: "asks that have waited for this time or longer, such as 5m"}),
		example: "/ws/v1/partition/default/asks?queue=root.tenant&limit=1"},
	{pattern: "GET /ws/v1/partition/{partition}/asks/rejected", serve: read((*service).rejectedAsks),
		answer: []dao.RejectedAsk{},
		summary: "The last 1,000 asks and reported allocations that were rejected, the newest first, as far as the event " +
			"history is kept"},
	{pattern: "GET /ws/v1/partition/{partition}/ask/{key}/explain", serve: read((*service).explain),
		summary: "Why an ask waits, or how an allocation stands", answer: dao.Explanation{},
		query:       []queryParameter{expectedStartParameter, victimsParameter},
		errorBodies: map[int]any{http.StatusNotFound: dao.UnknownKey{}},
		example:     "/ws/v1/partition/default/ask/waits/explain"},
	{pattern: "GET /ws/v1/partition/{partition}/application/{application}/explain",
		serve:   read((*service).explainApplication),
		summary: "Why the pending asks of an application wait, by groups of asks that wait for the same",
		answer:  dao.ApplicationExplanation{}, query: []queryParameter{expectedStartParameter}},
}}

var usageRoutes = routeSection{"Users and groups", []routeInfo{
	{pattern: "GET /ws/v1/history/usage", serve: read((*service).usageWindow), needs: usageStore,
		summary: "What queues, users or groups have used over a window, and how fair that was", answer: dao.UsageWindow{},
		query: usageParameters, errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable}},
	{pattern: "GET /ws/v1/partition/{partition}/fairness", serve: read((*service).fairness),
		summary: "What each queue is owed now, its longest wait, and whether it is starved", answer: []dao.QueueFairness{}},
	{pattern: "GET /ws/v1/partition/{partition}/usage/users", serve: ofSnapshot((*service).users), origin: yunikornRoute,
		summary: "The usage of all users", answer: []dao.UserUsage{}, example: "/ws/v1/partition/default/usage/users"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/user/{user}", serve: ofSnapshot((*service).user),
		origin: yunikornRoute, summary: "The usage of one user", answer: dao.UserUsage{},
		example: "/ws/v1/partition/default/usage/user/ann"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/groups", serve: ofSnapshot((*service).groups),
		origin: yunikornRoute, summary: "The usage of all groups", answer: []dao.GroupUsage{},
		example: "/ws/v1/partition/default/usage/groups"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/group/{group}", serve: ofSnapshot((*service).group),
		origin: yunikornRoute, summary: "The usage of one group", answer: dao.GroupUsage{},
		example: "/ws/v1/partition/default/usage/group/ops"},
}}

var preemptionRoutes = routeSection{"Preemption", []routeInfo{
	{pattern: "GET /ws/v1/partition/{partition}/preemptions", serve: read((*service).preemptions),
		summary: "The preemptions that are kept, the newest first", answer: dao.PreemptionList{},
		query: []queryParameter{{name: "application", help: "preemptions for or of this application"},
			{name: "queue", help: "preemptions for or in this queue and those below"},
			{name: "reason", help: "preemptions for this reason", values: victim.ReasonCodes[:]},
			{name: "limit", help: "how many at most, the newest first; default 100", kind: "integer"}},
		example: "/ws/v1/partition/default/preemptions"},
	{pattern: "GET /ws/v1/partition/{partition}/preemptions/{number}", serve: read((*service).preemption),
		summary: "One preemption, with the candidates on its node", answer: preemption.Preemption{}},
	{pattern: "POST /ws/v1/partition/{partition}/preemptions/dry-run", serve: read((*service).dryRun),
		summary: "What a hypothetical ask, or a pending one, would preempt; nothing changes",
		answer:  scheduler.DryRunResult{},
		body:    &requestBody{help: "the ask; 64 KiB at most", media: dryRunTypes, value: dao.DryRunRequest{}},
		errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}},
}}

// Statuses of the errors of changes on the admin listener.
var ofChange = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusServiceUnavailable,
}

var ofObjectChange = append([]int{http.StatusUnprocessableEntity}, ofChange...)

var configRoutes = routeSection{"Configuration", []routeInfo{
	{pattern: "GET /ws/v1/config", serve: raw((*service).config), needs: reloads, origin: yunikornRoute,
		summary: "The configuration in force: YAML, or JSON if the request accepts that; the header ETag has its generation",
		answer:  dao.Config{}, media: []string{yamlType, jsonType}, example: "/ws/v1/config"},
	{pattern: "POST /ws/v1/config", serve: change(yamlContentTypes, (*service).putConfig), changes: true,
		summary: "Puts a configuration in force, on the admin listener; If-Match makes it conditional on the generation",
		answer:  dao.Reload{}, body: &requestBody{help: "the text of a queues.yaml", media: yamlContentTypes},
		errors: ofChange, errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}}},
	{pattern: "POST /ws/v1/config/rollback/{generation}",
		serve: change([]string{"application/json"}, (*service).rollback), changes: true,
		summary: "Puts the text of an earlier generation in force again, on the admin listener", answer: dao.Reload{},
		errors: ofChange, errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}}},
	{pattern: "GET /ws/v1/config/history", serve: read((*service).generations), needs: reloads,
		summary: "The generations that are kept, the latest first", answer: []dao.Generation{},
		example: "/ws/v1/config/history"},
	{pattern: "GET /ws/v1/config/history/{generation}", serve: read((*service).generation), needs: reloads,
		summary: "One generation with its text", answer: dao.GenerationDetail{},
		errors: []int{http.StatusBadRequest, http.StatusNotFound}, example: "/ws/v1/config/history/1"},
	{pattern: "POST /ws/v1/plan", serve: ofSameOrigin((*service).plan), needs: reloads,
		summary: "What a configuration would change, and mean for the allocations there are; nothing changes",
		answer:  configPlanBody{}, body: &requestBody{help: "the text of a queues.yaml", media: nil},
		query: []queryParameter{{name: "partition", help: "compare only this partition; default: all"}},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge,
			http.StatusServiceUnavailable},
		errorBodies: map[int]any{http.StatusBadRequest: dao.InvalidConfig{}}},
	{pattern: "POST /ws/v1/validate-conf", serve: ofSameOrigin((*service).validate), needs: reloads,
		origin: yunikornRoute, summary: "Whether a configuration would be accepted; nothing changes",
		answer: dao.Validation{}, body: &requestBody{help: "the text of a queues.yaml"},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusServiceUnavailable}},
}}

var objectRouteTable = routeSection{"Priority classes and disruption budgets", []routeInfo{
	{pattern: "GET /ws/v1/priorityclasses", serve: jsonOrYAML(classKind.all),
		summary: "The priority classes; YAML if the request accepts that", answer: []classBody{},
		media: []string{jsonType, yamlType}, example: "/ws/v1/priorityclasses"},
	{pattern: "GET /ws/v1/priorityclass/{name}", serve: jsonOrYAML(classKind.one), summary: "One priority class",
		answer: classBody{}, media: []string{jsonType, yamlType}, errors: []int{http.StatusBadRequest, http.StatusNotFound},
		errorBodies: map[int]any{http.StatusNotFound: objectFailure{}},
		example:     "/ws/v1/priorityclass/system-node-critical"},
	objectChange("POST /ws/v1/priorityclasses", change(objectContentTypes, classKind.create),
		"Creates a priority class, on the admin listener", http.StatusCreated,
		classBody{}, changedClassBody{}),
	objectChange("PUT /ws/v1/priorityclass/{name}", change(objectContentTypes, classKind.update),
		"Replaces a priority class, on the admin listener", 0, classBody{},
		changedClassBody{}),
	objectChange("DELETE /ws/v1/priorityclass/{name}", change(nil, classKind.delete),
		"Deletes a priority class, on the admin listener", 0, nil,
		changedClassBody{}),
	{pattern: "GET /ws/v1/disruptionbudgets", serve: jsonOrYAML(budgetKind.all),
		summary: "The disruption budgets with their counts; YAML if the request accepts that", answer: []dao.Budget{},
		media: []string{jsonType, yamlType}, query: []queryParameter{namespaceParameter},
		errors: []int{http.StatusServiceUnavailable}, example: "/ws/v1/disruptionbudgets"},
	{pattern: "GET /ws/v1/disruptionbudget/{name}", serve: jsonOrYAML(budgetKind.one), summary: "One disruption budget",
		answer: dao.Budget{}, media: []string{jsonType, yamlType}, query: []queryParameter{namespaceParameter},
		errors: ofPartition, errorBodies: map[int]any{http.StatusNotFound: objectFailure{}}},
	objectChange("POST /ws/v1/disruptionbudgets", change(objectContentTypes, budgetKind.create),
		"Creates a disruption budget, on the admin listener", http.StatusCreated,
		dao.Budget{}, changedBudgetBody{}, namespaceParameter),
	objectChange("PUT /ws/v1/disruptionbudget/{name}", change(objectContentTypes, budgetKind.update),
		"Replaces a disruption budget, on the admin listener", 0,
		dao.Budget{}, changedBudgetBody{}, namespaceParameter),
	objectChange("DELETE /ws/v1/disruptionbudget/{name}", change(nil, budgetKind.delete),
		"Deletes a disruption budget, on the admin listener", 0, nil,
		changedBudgetBody{}, namespaceParameter),
}}

// objectChange describes a change of a named object.
func objectChange(pattern string, handle serve, summary string, status int, sent, answer any,
	query ...queryParameter) routeInfo {
	info := routeInfo{pattern: pattern, serve: handle, changes: true, summary: summary, status: status, answer: answer,
		query:  query,
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
	{pattern: "GET /ws/v1/events/batch", serve: read((*service).eventBatch), needs: eventHistory, origin: yunikornRoute,
		summary: "Records of the event history from an ID on, by default the oldest that is kept", answer: dao.EventBatch{},
		query: []queryParameter{{name: "start", help: "the ID of the first record", kind: "integer"}, countParameter,
			sinceParameter,
			{name: "until", help: "records before this time: RFC 3339, or a duration before now such as 1m"}},
		errors: []int{http.StatusBadRequest, http.StatusInternalServerError}, example: "/ws/v1/events/batch?count=1"},
	{pattern: "GET /ws/v1/events/stream", serve: raw((*service).eventStream), needs: eventHistory, origin: yunikornRoute,
		summary: "Records as they come, a line of JSON each; the first line has the InstanceUUID",
		query:   []queryParameter{countParameter, sinceParameter},
		errors:  []int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable}},
}}

// configPlanBody has the JSON of plan.Plan under a name of its own: a plan of victims is another thing.
type configPlanBody plan.Plan

var liveRoutes = routeSection{"Changes", []routeInfo{
	{pattern: "GET /ws/v1/live", serve: raw((*service).liveStream),
		summary: "Server-sent events for pages: numbers that grow when queues, applications, nodes, events or the " +
			"configuration have changed, at most once a second",
		media: []string{"text/event-stream"}, errors: []int{http.StatusServiceUnavailable}},
}}

var healthRoutes = routeSection{"Health and metrics", []routeInfo{
	{pattern: "GET /healthz", serve: read((*service).health), summary: "Liveness, from memory", answer: dao.Health{},
		errors: []int{http.StatusServiceUnavailable}, errorBodies: map[int]any{http.StatusServiceUnavailable: dao.Health{}},
		example: "/healthz"},
	{pattern: "GET /readyz", serve: read((*service).ready), summary: "Readiness", answer: dao.Ready{},
		errors:      []int{http.StatusServiceUnavailable},
		errorBodies: map[int]any{http.StatusServiceUnavailable: dao.Ready{}}, example: "/readyz"},
	{pattern: "GET /ws/v1/scheduler/healthcheck", serve: read((*service).healthCheck), origin: yunikornRoute,
		summary: "The checks of the scheduler; status 200 whatever they find", answer: dao.HealthCheck{},
		example: "/ws/v1/scheduler/healthcheck"},
	{pattern: "GET /ws/v1/metrics", serve: raw((*service).metrics), needs: metrics, origin: yunikornRoute,
		summary: "The metrics, for Prometheus", media: []string{textType}},
	{pattern: "GET /metrics", serve: raw((*service).metrics), needs: metrics, summary: "The same",
		media: []string{textType}},
}}

var diagnosticRoutes = routeSection{"Description and diagnostics", []routeInfo{
	{pattern: "GET " + openAPIPath, serve: read((*service).openAPI),
		summary: "The description of the interface, OpenAPI 3.1"},
	{pattern: "GET " + stateDumpPath, serve: raw((*service).stateDump), origin: yunikornRoute,
		summary: "Everything that REST shows, in one indented document", answer: dao.StateDump{},
		errors: []int{http.StatusServiceUnavailable}},
	{pattern: "GET /ws/v1/fullstatedump", serve: redirectTo(stateDumpPath), origin: yunikornRoute,
		summary: "Leads to /debug/fullstatedump", status: http.StatusMovedPermanently, media: []string{}},
	{pattern: "GET /debug/stack", serve: debugOnly((*service).stack), origin: yunikornRoute,
		summary: "The stacks of all goroutines, with --debug", media: []string{textType},
		errors: []int{http.StatusNotFound}},
	{pattern: "GET /ws/v1/stack", serve: redirectTo("/debug/stack"), origin: yunikornRoute,
		summary: "Leads to /debug/stack", status: http.StatusMovedPermanently, media: []string{}},
	{pattern: "GET /debug/pprof/{$}", serve: debugOnly((*service).profiles), origin: yunikornRoute,
		summary: "The names of the profiles, with --debug", media: []string{textType}, errors: []int{http.StatusNotFound}},
	{pattern: "GET /debug/pprof/{profile}", serve: debugOnly((*service).profile), origin: yunikornRoute,
		summary: "A profile for go tool pprof, with --debug", media: []string{binaryType, textType},
		query: []queryParameter{
			{name: "seconds", help: "how long profile (default 30) or trace (default 1) records, 300 at most", kind: "integer"},
			{name: "debug", help: "1 or 2: as text", kind: "integer"},
			{name: "gc", help: "1: of heap, after a garbage collection"}},
		errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}},
	{pattern: "POST /debug/pprof/symbol", serve: debugOnly((*service).symbols), origin: yunikornRoute,
		summary: "The names of the functions of addresses, with --debug", media: []string{textType},
		body:   &requestBody{help: "addresses: 0x1234+0x5678; 64 KiB at most"},
		errors: []int{http.StatusNotFound, http.StatusRequestEntityTooLarge}},
}}

// pathOf is the path of a pattern as clients see it.
func pathOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.TrimSuffix(path, "{$}")
}
