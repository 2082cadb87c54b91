package webservice

import (
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The route table describes every route: its parameters are checked by it, and the description of the interface
// (/ws/v1/openapi.json) and docs/REST.md are made from it (RST-13).

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
	namespaceParameter = queryParameter{name: "namespace", help: "the namespace of the budget; default: " + "default"}
	countParameter     = queryParameter{name: "count",
		help: "how many records at most; for a stream, how many past records it begins with", kind: "integer"}
	sinceParameter = queryParameter{name: "since",
		help: "records from this time on: RFC 3339, or a duration before now such as 5m"}
)

// ofPartition are the statuses of errors of what a partition answers.
var ofPartition = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable}

// withPages are parameters and those of pages.
func withPages(own ...queryParameter) []queryParameter { return append(own, pageParameters...) }

var clusterRoutes = routeSection{"Cluster, partitions and queues", []routeInfo{
	{pattern: "GET /ws/v1/clusters", origin: yunikornRoute,
		summary: "The partitions with the build information of their resource manager", answer: []dao.Cluster{},
		example: "/ws/v1/clusters"},
	{
		pattern: "GET /ws/v1/partitions", origin: yunikornRoute, summary: "The partitions with their totals",
		answer: []dao.Partition{},
		errors: []int{http.StatusServiceUnavailable}, example: "/ws/v1/partitions",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/queues", origin: yunikornRoute, summary: "The tree of all queues",
		answer: dao.Queue{}, errors: ofPartition,
		example: "/ws/v1/partition/default/queues",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/queue/{queue}", origin: yunikornRoute, summary: "One queue",
		answer: dao.Queue{}, errors: ofPartition,
		query:   []queryParameter{{name: "subtree", help: "also the queues below; it needs no value", flag: true}},
		example: "/ws/v1/partition/default/queue/root.tenant.fair",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/placementrules", origin: yunikornRoute,
		summary: "The placement rules of a partition, and the recovery rule behind them",
		answer:  []dao.PlacementRule{}, errors: []int{http.StatusBadRequest, http.StatusNotFound},
		example: "/ws/v1/partition/default/placementrules",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/classquotas", summary: "The class quotas of a partition and their usage",
		answer: classQuotasBody{}, errors: ofPartition,
		example: "/ws/v1/partition/default/classquotas",
	},
	{
		pattern: "GET /ws/v1/history/apps", origin: yunikornRoute,
		summary: "How many applications were running, each minute of the last day", answer: []dao.ApplicationSample{},
		example: "/ws/v1/history/apps",
	},
	{
		pattern: "GET /ws/v1/history/containers", origin: yunikornRoute,
		summary: "How many allocations there were, each minute of the last day", answer: []dao.ContainerSample{},
		example: "/ws/v1/history/containers",
	},
	{pattern: "GET /ws/v1/resourcemanagers", summary: "The registered resource manager", answer: []ResourceManager{},
		example: "/ws/v1/resourcemanagers"},
	{
		pattern: "DELETE /ws/v1/resourcemanager/{rm}",
		summary: "Ends the registration of a resource manager, on the admin listener", answer: map[string]string{},
		query:  []queryParameter{{name: "force", help: "also one that is connected", kind: "boolean"}},
		errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	},
}}

var nodeRoutes = routeSection{"Nodes", []routeInfo{
	{
		pattern: "GET /ws/v1/partition/{partition}/nodes", origin: yunikornRoute,
		summary: "The nodes with their allocations; a list with pages", answer: []dao.Node{},
		query: withPages(queryParameter{name: "schedulable", help: "only nodes that are schedulable, or are not",
			kind: "boolean"}),
		errors: ofPartition, example: "/ws/v1/partition/default/nodes?limit=1",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/node/{node}", origin: yunikornRoute, summary: "One node",
		answer: dao.Node{}, errors: ofPartition,
		example: "/ws/v1/partition/default/node/n2",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/node/{node}/eviction-order",
		summary: "The order in which node pressure would end the allocations of a node", answer: evictionBody{},
		query: []queryParameter{{name: "resource", help: "what the node lacks"}}, errors: ofPartition,
		example: "/ws/v1/partition/default/node/n1/eviction-order",
	},
	{
		pattern: "GET /ws/v1/scheduler/node-utilizations", origin: yunikornRoute,
		summary: "How many nodes are how full, by resource", answer: []dao.NodeUtilizations{},
		errors: []int{http.StatusServiceUnavailable}, example: "/ws/v1/scheduler/node-utilizations",
	},
}}

var applicationRoutes = routeSection{"Applications and asks", []routeInfo{
	{
		pattern: "GET /ws/v1/partition/{partition}/applications/{state}", origin: yunikornRoute,
		summary: "The applications of a partition in a state; a list with pages",
		answer:  []dao.Application{}, query: withPages(statusParameter, userParameter), errors: ofPartition,
		example: "/ws/v1/partition/default/applications/active?limit=1",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/application/{application}", origin: yunikornRoute,
		summary: "One active application", answer: dao.Application{}, errors: ofPartition,
		example: "/ws/v1/partition/default/application/app-2",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/applications", origin: yunikornRoute,
		summary: "The active applications of a queue; a list with pages",
		answer:  []dao.Application{}, query: withPages(statusParameter, userParameter), errors: ofPartition,
		example: "/ws/v1/partition/default/queue/root.tenant.odd%252Fname/applications",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/applications/{state}", origin: yunikornRoute,
		summary: "The same: the state is active",
		answer:  []dao.Application{}, query: withPages(statusParameter, userParameter), errors: ofPartition,
		example: "/ws/v1/partition/default/queue/root.tenant.fair/applications/active?fields=applicationID,applicationState",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/queue/{queue}/application/{application}", origin: yunikornRoute,
		summary: "One active application of a queue", answer: dao.Application{},
		errors: ofPartition, example: "/ws/v1/partition/default/queue/root.tenant.fair/application/app-3",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/asks",
		summary: "The pending asks of a partition, the longest waiting first; a list with pages", answer: dao.PendingAsks{},
		errors: ofPartition,
		query: withPages(
			queryParameter{name: "queue", help: "asks in this queue and those below"},
			queryParameter{name: "application", help: "asks of this application"},
			queryParameter{name: "user", help: "asks of applications of this user"},
			queryParameter{name: "waitingState",
				help: "asks of which the resource manager was told this; reserved: asks that have reserved a node, whatever it " +
					"was told", values: waitingStates},
			queryParameter{name: "olderThan", help: "asks that have waited for this time or longer, such as 5m"},
		),
		example: "/ws/v1/partition/default/asks?queue=root.tenant&limit=1",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/asks/rejected", answer: []dao.RejectedAsk{}, errors: ofPartition,
		summary: "The last 1,000 asks and reported allocations that were rejected, the newest first, as far as the event " +
			"history is kept",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/ask/{key}/explain",
		summary: "Why an ask waits, or how an allocation stands", answer: dao.Explanation{}, errors: ofPartition,
		query:       []queryParameter{expectedStartParameter, victimsParameter},
		errorBodies: map[int]any{http.StatusNotFound: dao.UnknownKey{}},
		example:     "/ws/v1/partition/default/ask/waits/explain",
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/application/{application}/explain",
		summary: "Why the pending asks of an application wait, by groups of asks that wait for the same",
		answer:  dao.ApplicationExplanation{}, errors: ofPartition, query: []queryParameter{expectedStartParameter},
	},
}}

var usageRoutes = routeSection{"Users and groups", []routeInfo{
	{
		pattern: "GET /ws/v1/history/usage",
		summary: "What queues, users or groups have used over a window, and how fair that was", answer: dao.UsageWindow{},
		query:  usageParameters,
		errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable},
	},
	{
		pattern: "GET /ws/v1/partition/{partition}/fairness",
		summary: "What each queue is owed now, its longest wait, and whether it is starved", answer: []dao.QueueFairness{},
		errors: ofPartition,
	},
	{pattern: "GET /ws/v1/partition/{partition}/usage/users", origin: yunikornRoute, summary: "The usage of all users",
		answer: []dao.UserUsage{}, errors: ofPartition, example: "/ws/v1/partition/default/usage/users"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/user/{user}", origin: yunikornRoute,
		summary: "The usage of one user", answer: dao.UserUsage{}, errors: ofPartition,
		example: "/ws/v1/partition/default/usage/user/ann"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/groups", origin: yunikornRoute, summary: "The usage of all groups",
		answer: []dao.GroupUsage{}, errors: ofPartition, example: "/ws/v1/partition/default/usage/groups"},
	{pattern: "GET /ws/v1/partition/{partition}/usage/group/{group}", origin: yunikornRoute,
		summary: "The usage of one group", answer: dao.GroupUsage{}, errors: ofPartition,
		example: "/ws/v1/partition/default/usage/group/ops"},
}}

// pathOf is the path of a pattern as clients see it.
func pathOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.TrimSuffix(path, "{$}")
}
