package metrics

// What upstream has too, with a partition. There, partitions share series or overwrite each
// other's; where there is one, as below every shim we know, a query finds the same series.
var (
	attempts = counter("yunikorn_scheduler_container_allocation_attempt_total",
		"Allocations as they were told: allocated, released, or rejected as an ask.", "partition", "state")
	submissions = counter("yunikorn_scheduler_application_submission_total",
		"Applications that were taken in (new), asked for the first time (accepted), or were refused (rejected).", "partition", "result")
	applications = gauge("yunikorn_scheduler_application_total",
		"Applications by state; completed and failed only grow.", "partition", "state")
	nodes = gauge("yunikorn_scheduler_node",
		"Nodes by state: active, draining, or refused since the start (failed).", "partition", "state")
	queueApplications = gauge("yunikorn_queue_app",
		"Applications of a leaf queue by state; completed and failed only grow.", "partition", "queue", "state")
	queueEnded = counter("yunikorn_queue_app_total",
		"Applications that ended in a queue; the queue may be gone.", "partition", "queue", "state")
	queueResources = gauge("yunikorn_queue_resource",
		"Bounds and use of a queue, in the units of the interface.", "partition", "queue", "state", "resource")
)

// What is ours.
var (
	asksPending = gauge("canopy_asks_pending",
		"Asks that have no node.", "partition")
	allocations = gauge("canopy_allocations",
		"Allocations that hold a node.", "partition")
	refusals = counter("canopy_refusals_total",
		"Commands without an answer on the wire that changed nothing.", "partition")
	queuesAboveMax = gauge("canopy_queues_above_max",
		"Queues that hold more than a max that is enforced.", "partition")

	preemptions = counter("canopy_preemptions_total",
		"Times that others were told to leave for an ask, by its right.", "partition", "right")
	victims = counter("canopy_preemption_victims_total",
		"Allocations that were told to leave, by the right of whoever wanted their room.", "partition", "right")
	nominations = gauge("canopy_preemption_nominations",
		"Asks that wait for a node until others have left it.", "partition")
	nominationsEnded = counter("canopy_preemption_nominations_ended_total",
		"Nominations that ended, by how.", "partition", "state")
	unconfirmed = gauge("canopy_preemption_victims_unconfirmed",
		"Allocations that were told to leave and have not left, overdue or not.", "partition")
	overdue = gauge("canopy_preemption_victims_overdue",
		"Allocations that were told to leave so long ago that nobody counts on it any more.", "partition")
	overdueEver = counter("canopy_preemption_victims_overdue_total",
		"Allocations that became overdue.", "partition")
	oldestUnconfirmed = gauge("canopy_preemption_oldest_unconfirmed_seconds",
		"How long ago the first was told to leave of those that have not left; 0: there is none.", "partition")
	strays = counter("canopy_preemption_stray_confirmations_total",
		"Confirmations that somebody unknown was preempted.", "partition")
	churns = counter("canopy_preemption_churns_total",
		"Times that room had gone round a circle of leaves too often.", "partition", "cycle")
	pauses = gauge("canopy_preemption_paused",
		"1 for leaves that may not take each other's place for now; twice the same leaf: its own.", "partition", "queue", "other")

	scrapesMissed = counter("canopy_scrape_failures_total",
		"Scrapes that a partition did not answer in time.", "partition")
	eventsKept = counter("canopy_events_total",
		"Events that history has taken in.")
	eventsRemembered = gauge("canopy_events_remembered",
		"Events that history still has.")
	eventStreams = gauge("canopy_event_streams",
		"Open streams of events.")
	eventReadersDropped = counter("canopy_event_readers_dropped_total",
		"Streams of events that were ended because their reader was too far behind.")
	connections = gauge("canopy_http_connections",
		"Open HTTP connections.")
	connectionsRefused = counter("canopy_http_connections_refused_total",
		"HTTP connections that got status 503 because too many were open.")
	connectionsEvicted = counter("canopy_http_connections_evicted_total",
		"Idle HTTP connections that were closed for a new one.")
	connectionsStalled = counter("canopy_http_stalled_total",
		"HTTP connections that were cut because the client did not take its answer.")
	largeAnswers = gauge("canopy_http_large_answers",
		"Large answers that are being written.")
	largeRefused = counter("canopy_http_large_answers_refused_total",
		"Answers with status 503 because too many large ones were being written.")
	parametersIgnored = counter("canopy_http_parameters_ignored_total",
		"Parameters of queries that were ignored because the path does not know them.")

	logDropped = counter("canopy_log_lines_dropped_total",
		"Log lines that were lost because the log was not read, or could not be written.")
	logOmitted = counter("canopy_log_lines_omitted_total",
		"Log lines that were left out because the same message was logged too often within a second.")
)

// families are all but those of node usage, whose names depend on the nodes.
var families = []*family{
	attempts, submissions, applications, nodes, queueApplications, queueEnded, queueResources,
	asksPending, allocations, refusals, queuesAboveMax,
	preemptions, victims, nominations, nominationsEnded, unconfirmed, overdue, overdueEver, oldestUnconfirmed, strays,
	churns, pauses,
	scrapesMissed, eventsKept, eventsRemembered, eventStreams, eventReadersDropped,
	connections, connectionsRefused, connectionsEvicted, connectionsStalled, largeAnswers, largeRefused, parametersIgnored,
	logDropped, logOmitted,
	rmRegistered, rmConnected, rmListening, rmDisconnects, rmUndelivered, streamsSilent, streamsSilentEnded, rmIgnored,
}
