package web

import "testing"

// Each view says what is missing in a scheduler without nodes and applications, and has no error.
func TestViews_OfAnEmptyScheduler(t *testing.T) {
	s := startServer(t)
	p := openPage(t, s.http)
	for _, v := range []view{
		{"overview", "overview", ".notice"}, {"queues", "queues?queue=root", ".panel"}, {"asks", "asks", ".state"},
		{"applications", "applications", ".state"},
		{"rejected", "applications?state=rejected", ".state"}, {"nodes", "nodes", ".state"}, {"users", "users", ".state"},
		{"groups", "users?kind=groups", ".state"},
		{"preemptions", "preemptions", ".state"}, {"events", "events", ".page"}, {"config", "config", ".gens"},
		{"health", "health", ".check"},
	} {
		p.open(v.route, v.selector)
	}
}
