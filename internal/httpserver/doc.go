// Package httpserver serves an HTTP handler so that its clients cost a bounded amount,
// whatever they do.
//
// It bounds the open connections, what a client may leave unread and for how long, and the
// large answers that are written at the same time. What is answered is the handler's matter.
//
// The rule that must hold: an answer of the liveness paths is possible at any time. A few
// connections beyond the limit are reserved for them, and no connection stays on these.
package httpserver

import "sync/atomic"

// Counts are numbers for meters. They are safe for concurrent use, and only the gauges fall.
type Counts struct {
	Connections      atomic.Int64  // that are open: a gauge
	Refused          atomic.Uint64 // connections over the limit, that were answered 503 or closed
	Evicted          atomic.Uint64 // idle connections that were closed for a new one
	Stalled          atomic.Uint64 // connections that were cut as the client read nothing
	LargeAnswers     atomic.Int64  // that are being written: a gauge
	LargeRefused     atomic.Uint64 // answers 503, as too many large ones were being written
	UnknownParameter atomic.Uint64 // parameters of queries that were ignored
}
