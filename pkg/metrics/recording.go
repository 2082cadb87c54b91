package metrics

// SetRecordingSource sets what has the number of steps of a partition that were not recorded. It must be called before
// the first scrape. Without it there is no recording.
func (m *Metrics) SetRecordingSource(lost func(partition string) uint64) { m.recordings = lost }

var lostSteps = counter("canopy_recording_lost_steps_total",
	"Commands and calls of the scheduler that the recording does not have: its session has ended before, because of its "+
		"length, or of a disk that was slow or full.", "partition")

// writeRecording writes what the recording of a partition has lost (REC-6).
func (s *scrape) writeRecording(to partitionWriter, partition string) {
	if s.m.recordings != nil {
		to.count(lostSteps, int(s.m.recordings(partition)))
	}
}
