// Package tune proposes changes of guarantees and priority offsets for an objective on waits, by trying them on a
// recording.
//
// It owns the objective, the bound on what other queues may wait more, which changes are tried in which order, and the
// evidence. What a configuration comes to on the recording is for package whatif, and how a value is written into
// queues.yaml for package queuesyaml.
//
// The rule that must hold: each figure of a trial is what whatif.Compare says of the edited text, so that a proposal
// that is put into a file gives what was printed. The search is deterministic.
package tune
