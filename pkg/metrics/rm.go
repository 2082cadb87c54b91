package metrics

// RM has the counts of resource managers and of their messages.
type RM struct {
	Registered   bool
	Connected    bool // it has a stream, or had one within the last 10 seconds
	Listening    bool // it receives decisions
	Disconnects  uint64
	Replacements uint64            // times that another resource manager registered
	Undelivered  uint64            // bytes of answers that the resource manager has not read
	Silent       int               // streams without a first message
	SilentEnded  uint64            // of these, ended because there were too many
	Ignored      map[string]uint64 // elements of messages without an answer in the interface, by kind
}

// SetRMSource sets the source of RM. It must be called before the first scrape.
func (m *Metrics) SetRMSource(source func() RM) { m.rmSource = source }

var (
	rmRegistered = gauge("canopy_resource_manager_registered",
		"1 if a resource manager is registered.")
	rmConnected = gauge("canopy_resource_manager_connected",
		"1 if the resource manager has a stream, or had one within the last 10 seconds.")
	rmListening = gauge("canopy_resource_manager_listening",
		"1 if the resource manager receives decisions; while it does not, none are made.")
	rmDisconnects = counter("canopy_resource_manager_disconnects_total",
		"Times that a resource manager had no stream for 10 seconds.")
	rmReplacements = counter("canopy_resource_manager_replacements_total",
		"Times that a resource manager registered in the place of another one.")
	rmUndelivered = gauge("canopy_resource_manager_undelivered_bytes",
		"Memory of answers that the resource manager has not read.")
	streamsSilent = gauge("canopy_grpc_silent_streams",
		"Streams whose first message has not come.")
	streamsSilentEnded = counter("canopy_grpc_silent_streams_ended_total",
		"Streams without a first message that were ended because there were too many.")
	elementsIgnored = counter("canopy_message_elements_ignored_total",
		"Elements of messages that changed nothing and that the interface has no answer for, by kind.", "kind")
)

// writeRM writes the families of the resource manager.
func (s *scrape) writeRM(to *gathering) {
	if s.m.rmSource == nil {
		return
	}
	rm := s.m.rmSource()
	to.flag(rmRegistered, rm.Registered)
	to.flag(rmConnected, rm.Connected)
	to.flag(rmListening, rm.Listening)
	to.value(rmDisconnects, float64(rm.Disconnects))
	to.value(rmReplacements, float64(rm.Replacements))
	to.value(rmUndelivered, float64(rm.Undelivered))
	to.value(streamsSilent, float64(rm.Silent))
	to.value(streamsSilentEnded, float64(rm.SilentEnded))
	to.countsByLabel(elementsIgnored, rm.Ignored)
}
