package bench

import (
	"slices"
	"strings"
	"time"
)

// endpoint is a path with the expected content of its answer.
type endpoint struct {
	path string
	want map[string][2]int // minimum and maximum occurrences of a key
	text bool              // plain text: the keys are parts of lines
}

// endpoints returns the endpoints of a server that readers use: all that there are, but for streams, for what --debug
// adds, and for things that the cluster does not have.
func (p *pollJob) endpoints() []endpoint {
	const partition = "/ws/v1/partition/default/"
	within := func(least, most int) [2]int { return [2]int{least, most} }
	exactly := func(n int) [2]int { return within(n, n) }
	placed := within(p.Allocations, p.Allocations+p.Extra)
	one := map[string][2]int{"applicationID": exactly(1)}
	return []endpoint{
		{path: "/healthz", want: map[string][2]int{"healthy": exactly(1)}},
		{path: "/readyz", want: map[string][2]int{"ready": exactly(1)}},
		{path: "/ws/v1/scheduler/healthcheck", want: map[string][2]int{"Healthy": exactly(1), "Name": within(4, 50)}},
		{path: "/ws/v1/partitions", want: map[string][2]int{"nodeSortingPolicy": exactly(1)}},
		{path: "/ws/v1/clusters", want: map[string][2]int{"clusterName": exactly(1)}},
		{path: "/ws/v1/resourcemanagers", want: map[string][2]int{"rmID": exactly(1)}},
		{path: "/ws/v1/scheduler/node-utilizations", want: map[string][2]int{"utilizations": exactly(1)}},
		{path: partition + "queues", want: map[string][2]int{"queuename": exactly(p.Queues)}},
		{path: partition + "queue/" + p.Queue, want: map[string][2]int{"queuename": exactly(1)}},
		{path: partition + "placementrules", want: map[string][2]int{"name": within(1, 50)}},
		{path: partition + "fairness", want: map[string][2]int{"queuename": exactly(p.Queues)}},
		{path: partition + "operators", want: map[string][2]int{"cordoned": exactly(1)}},
		{path: partition + "nodes", want: map[string][2]int{"nodeID": exactly(p.Nodes), "allocationKey": placed}},
		{path: partition + "node/" + p.Node, want: map[string][2]int{"nodeID": exactly(1)}},
		{path: partition + "node/" + p.Node + "/eviction-order", want: map[string][2]int{"nodeID": exactly(1)}},
		{path: partition + "queue/" + p.Queue + "/applications",
			want: map[string][2]int{"applicationID": within(1, p.Applications)}},
		{path: partition + "queue/" + p.Queue + "/applications/active",
			want: map[string][2]int{"applicationID": within(1, p.Applications)}},
		{path: partition + "queue/" + p.Queue + "/application/" + p.Application, want: one},
		{path: partition + "application/" + p.Application, want: one},
		{path: partition + "application/" + p.Application + "/explain", want: one},
		{path: partition + "ask/" + p.Ask + "/explain", want: map[string][2]int{"allocationKey": exactly(1)}},
		{path: partition + "asks?limit=100", want: map[string][2]int{"allocationKey": within(0, 100)}},
		{path: partition + "asks/rejected", want: map[string][2]int{"allocationKey": within(0, 1000)}},
		{path: partition + "applications/active",
			want: map[string][2]int{"applicationID": exactly(p.Applications), "allocationKey": placed}},
		{path: partition + "applications/completed", want: map[string][2]int{"applicationID": exactly(0)}},
		{path: partition + "applications/rejected", want: map[string][2]int{"applicationID": within(0, 1)}},
		{path: partition + "usage/users", want: map[string][2]int{"userName": within(1, p.Applications)}},
		{path: partition + "usage/user/" + p.User, want: map[string][2]int{"userName": exactly(1)}},
		{path: partition + "usage/groups", want: map[string][2]int{"groupName": within(0, p.Applications)}},
		{path: partition + "classquotas", want: map[string][2]int{"classQuotas": exactly(1)}},
		{path: partition + "preemptions", want: map[string][2]int{"preemptions": exactly(1)}},
		{path: "/ws/v1/events/batch", want: map[string][2]int{"InstanceUUID": exactly(1), "objectID": within(1, 10_000)}},
		{path: "/ws/v1/config/history", want: map[string][2]int{"generation": within(1, 50)}},
		{path: "/ws/v1/config", text: true, want: map[string][2]int{"partitions:": exactly(1)}},
		{path: "/ws/v1/config/history/1", want: map[string][2]int{"generation": exactly(1)}},
		{path: "/ws/v1/priorityclass/system-node-critical", want: map[string][2]int{"value": exactly(1)}},
		{path: "/ws/v1/history/apps", want: map[string][2]int{"totalApplications": within(1, 1440)}},
		{path: "/ws/v1/history/containers", want: map[string][2]int{"totalContainers": within(1, 1440)}},
		{path: "/ws/v1/openapi.json", want: map[string][2]int{"openapi": exactly(1)}},
		{path: "/ws/v1/priorityclasses", want: map[string][2]int{"name": within(1, 50)}},
		{path: "/ws/v1/disruptionbudgets", want: map[string][2]int{"namespace": exactly(0)}},
		{path: "/ws/v1/metrics", text: true, want: map[string][2]int{
			"\nyunikorn_queue_resource{": within(p.Queues, p.Queues*50), "\ngo_goroutines ": exactly(1),
		}},
	}
}

// view describes a page: what it reads, and the numbers of GET /ws/v1/live that say when it must read that again.
type view struct {
	name   string
	reads  []endpoint // at the same time, as a browser does
	topics []string   // of the partition; "events" and "generation" are those of the server
	rest   time.Duration
}

// views returns the views of the page that is embedded in the server, with the same paths, topics and pauses.
func (p *pollJob) views() []view {
	read := func(suffixes ...string) (found []endpoint) {
		all := p.endpoints()
		for _, suffix := range suffixes {
			i := slices.IndexFunc(all, func(e endpoint) bool { return strings.HasSuffix(e.path, suffix) })
			if i < 0 {
				panic("bench: no endpoint ends with " + suffix)
			}
			found = append(found, all[i])
		}
		return found
	}
	return []view{
		{"overview",
			read("/partitions", "/queues", "/history/apps", "/history/containers", "/node-utilizations", "/healthcheck",
				"/preemptions", "/resourcemanagers"), []string{"queues", "nodes", "events", "generation"}, 2500 * time.Millisecond},
		{"queues", read("/queues"), []string{"queues"}, 0},
		{"waiting asks", read("/asks?limit=100"), []string{"queues"}, 0},
		{"applications", read("/applications/active"), []string{"applications"}, 2 * time.Second},
		{"nodes", read("/nodes"), []string{"nodes"}, 1500 * time.Millisecond},
		{"users", read("/usage/users"), []string{"queues"}, 2 * time.Second},
		{"preemptions", read("/preemptions"), []string{"events"}, 2 * time.Second},
		{"events", read("/events/batch"), []string{"events"}, 0},
		{"ask", read("/ask/" + p.Ask + "/explain"), []string{"queues", "nodes"}, 2 * time.Second},
		{"application", read("/application/" + p.Application), []string{"applications"}, 0},
		{"configuration", read("/config/history"), []string{"generation"}, 0},
		{"health", read("/healthcheck", "/resourcemanagers"), []string{"generation", "events"}, 8 * time.Second},
	}
}
