package metrics

// Families that YuniKorn has too, with the label partition added: in YuniKorn, partitions share a series
// or overwrite it. With a single partition, as with every known shim, a query finds the same series.
var (
	attempts = counter("yunikorn_scheduler_container_allocation_attempt_total",
		"Allocations sent to the resource manager, releases, and rejected asks.", "partition", "state")
	submissions = counter("yunikorn_scheduler_application_submission_total",
		"Applications that were taken in (new), asked for the first time (accepted), or were refused (rejected).",
		"partition", "result")
	applications = gauge("yunikorn_scheduler_application_total",
		"Applications by state; completed and failed only grow.", "partition", "state")
	nodes = gauge("yunikorn_scheduler_node",
		"Nodes by state: active, draining; refused (failed) or removed (decommissioned) since the start.", "partition",
		"state")
	queueApplications = gauge("yunikorn_queue_app",
		"Applications of a leaf queue by state; completed and failed only grow.", "partition", "queue", "state")
	queueEnded = counter("yunikorn_queue_app_total",
		"Applications that ended in a queue; the queue may be gone.", "partition", "queue", "state")
	queueResources = gauge("yunikorn_queue_resource",
		"Bounds and use of a queue, in the units of the interface.", "partition", "queue", "state", "resource")
)

// Families of Canopy.
var (
	asksPending = gauge("canopy_asks_pending",
		"Pending asks.", "partition")
	backedOff = gauge("canopy_backed_off",
		"Pending asks that the resource manager refused on every node that fits (refused), and ask groups without victims "+
			"(no-victims), that are not tried again before a time.", "partition", "reason")
	backedOffUntil = gauge("canopy_backed_off_until_seconds",
		"Unix time at which the first of them is tried again whatever happens; missing: none is.", "partition", "reason")
	allocations = gauge("canopy_allocations",
		"Allocations that are bound to a node.", "partition")
	orphaned = gauge("canopy_orphaned_allocations",
		"Allocations that the resource manager reported as running, and that their applications have not taken.", "partition")
	commandsRejected = counter("canopy_commands_rejected_total",
		"Commands that changed nothing and that are no registration, application or ask.", "partition")
	queuesViolatingQuota = gauge("canopy_queues_violating_quota",
		"Queues whose allocations exceed a max that quota preemption enforces.", "partition")
	queuesReduced = gauge("canopy_queues_guarantee_reduced",
		"Queues whose guarantee is scaled down, because percents are more than there is.", "partition")
	usageOverTime = gauge("canopy_queue_usage_over_time",
		"Part of the cluster that a queue has used on average over time, if the queue above orders by it.", "partition",
		"queue")
	raisedApplications = gauge("canopy_applications_raised",
		"Applications without an allocation whose priority was raised by waiting.", "partition")

	nodesOvercommitted = gauge("canopy_nodes_overcommitted",
		"Nodes whose allocations exceed their capacity.", "partition")
	preemptions = counter("canopy_preemptions_total",
		"Preemptions for an ask, by reason.", "partition", "reason")
	victims = counter("canopy_preemption_victims_total",
		"Preempted allocations (victims), by reason of the preemption.", "partition", "reason")
	nominations = gauge("canopy_preemption_nominations",
		"Asks that are nominated for a node and wait for its victims to end.", "partition")
	nominationsEnded = counter("canopy_preemption_nominations_ended_total",
		"Nominations that ended, by final state.", "partition", "state")
	unconfirmed = gauge("canopy_preemption_victims_unconfirmed",
		"Victims whose termination is not confirmed yet, overdue or not.", "partition")
	overdue = gauge("canopy_preemption_victims_overdue",
		"Victims whose termination was not confirmed within the nomination timeout.", "partition")
	overdueTotal = counter("canopy_preemption_victims_overdue_total",
		"Victims that became overdue.", "partition")
	nodeRefusals = counter("canopy_node_refusals_total",
		"Back-offs that began because a node refused an allocation: of the ask, or of all asks of its shape.", "partition",
		"state")
	oldestUnconfirmed = gauge("canopy_preemption_oldest_unconfirmed_seconds",
		"Age of the oldest preemption of a victim that is not confirmed; 0: there is none.", "partition")
	overruns = counter("canopy_run_time_releases_total",
		"Allocations that ran for longer than their bound, and were released.", "partition")
	backfilled = counter("canopy_backfilled_total",
		"Allocations that were placed in what reservations hold.", "partition")
	backfillReleases = counter("canopy_backfill_releases_total",
		"Backfilled allocations that were released because a reserved ask fits without them.", "partition")
	unknownConfirmations = counter("canopy_preemption_unknown_confirmations_total",
		"Confirmations of preemptions of unknown allocations.", "partition")
	preemptionCycles = counter("canopy_preemption_cycles_total",
		"Times that a cycle of preemptions among leaf queues was detected.", "partition", "cycle")
	coolDowns = gauge("canopy_preemption_cool_downs",
		"1 for two leaf queues that may not preempt each other during a cool-down; twice the same queue: within it.",
		"partition", "queue", "other_queue")

	scrapesMissed = counter("canopy_scrape_failures_total",
		"Scrapes that a partition did not answer in time.", "partition")
	eventsAdded = counter("canopy_events_total",
		"Events that history has recorded.")
	eventsRemembered = gauge("canopy_events_remembered",
		"Events that history still has.")
	eventStreams = gauge("canopy_event_streams",
		"Open streams of events.")
	eventReadersDropped = counter("canopy_event_readers_dropped_total",
		"Event streams that were ended because their reader was too slow.")
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
		"Query parameters that were ignored: unknown, repeated or empty ones.")

	logDropped = counter("canopy_log_lines_dropped_total",
		"Log lines that were lost because the log was not read, or could not be written.")
	logOmitted = counter("canopy_log_lines_omitted_total",
		"Log lines that were left out because the same message was logged too often within a second.")
)

// families are all families except those of node usage, whose names depend on the resources of nodes.
var families = []*family{
	attempts, submissions, applications, nodes, queueApplications, queueEnded, queueResources,
	asksPending, orphaned, backedOff, backedOffUntil, allocations, commandsRejected, queuesViolatingQuota,
	queuesReduced, usageOverTime, raisedApplications,
	nodesOvercommitted,
	preemptions, victims, nominations, nominationsEnded, unconfirmed, overdue, overdueTotal, nodeRefusals,
	oldestUnconfirmed, unknownConfirmations, overruns, backfilled, backfillReleases,
	preemptionCycles, coolDowns, expectedStarts, expectedStartError, lostSteps,
	scrapesMissed, eventsAdded, eventsRemembered, eventStreams, eventReadersDropped,
	connections, connectionsRefused, connectionsEvicted, connectionsStalled, largeAnswers, largeRefused, parametersIgnored,
	logDropped, logOmitted,
	rmRegistered, rmConnected, rmListening, rmDisconnects, rmReplacements, rmUndelivered, streamsSilent,
	streamsSilentEnded, elementsIgnored,
	configGeneration, configStored, configRejections, accessRefused, certificateExpires, healthy, partitionBusy,
	waitingCommands, haLeader, haEpoch,
}
