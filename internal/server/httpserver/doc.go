// Package httpserver serves an HTTP handler and bounds what its clients cost, whatever they do.
//
// It bounds the open connections, the size and the time of unread data, and the number of large
// responses that are written at the same time, and refuses requests for names of other servers. The
// content of responses is up to the handler.
//
// Invariant: the liveness paths can be answered at any time. A few connections beyond the limit
// are reserved for them, and are closed after 3 s.
package httpserver

import "sync/atomic"

// Counts are counters for metrics. They are safe for concurrent use; those named as gauges can
// fall.
type Counts struct {
	Connections      atomic.Int64  // open connections: a gauge
	Refused          atomic.Uint64 // connections beyond the limit that were answered 503 or closed
	Evicted          atomic.Uint64 // idle connections that were closed in favour of a new one
	Stalled          atomic.Uint64 // connections that were closed because the client did not read
	LargeAnswers     atomic.Int64  // large responses that are being written: a gauge
	LargeRefused     atomic.Uint64 // responses 503 because too many large ones were being written
	ParameterIgnored atomic.Uint64 // query parameters that were ignored: unknown, repeated or empty ones
}
