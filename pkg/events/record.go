// Package events has the records of the event history as values, and a ring that keeps the last
// ones.
//
// It owns the numbers of the event interface (OBS-24). Which records there are, their times and their
// readers are the subject of internal/server/history.
//
// The rule that must hold: a Record never changes, and its ID is never used again.
package events

import (
	"time"
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Record is one entry of the event history.
type Record struct {
	Type      Type
	Object    string // the ID of the object, which is of that type
	Reference string // the ID of another object; may be empty
	Change    Change
	Detail    Detail
	Rejected  bool   // an ask or an allocation was rejected; the interface does not show this
	Message   string // at most MaxMessage bytes
	Amounts   resources.Amounts
	Partition string
	At        time.Time
}

// Type is the kind of object of a Record.
type Type uint8

// The types. The numbers are those of the interface.
const (
	Request     Type = 1 // an ask, or an allocation
	Application Type = 2
	Node        Type = 3
	Queue       Type = 4
)

// Change is the kind of change of the object.
type Change uint8

// The changes. The numbers are those of the interface.
const (
	NoChange Change = iota // only the message matters
	Set                    // the object has changed
	Add                    // the object, or its reference, was added
	Remove                 // the object, or its reference, was removed
)

// Detail is the kind of change in detail. The numbers are those of the interface.
type Detail uint16

// The details that are in use.
const (
	RequestCancelled Detail = 100 // the reference is the ask
	RequestTimedOut  Detail = 102 // the same: it ended with its gang

	AppAllocated  Detail = 200 // the reference is the allocation
	AppRejected   Detail = 202
	AppNew        Detail = 203
	AppAccepted   Detail = 204
	AppRunning    Detail = 206
	AppCompleting Detail = 207
	AppCompleted  Detail = 208
	AppFailing    Detail = 209
	AppFailed     Detail = 210
	AppResuming   Detail = 211
	AppExpired    Detail = 212

	NodeDecommissioned Detail = 300
	NodeSchedulable    Detail = 302
	NodeAllocated      Detail = 303 // the reference is the allocation
	NodeCapacity       Detail = 304
	NodeReservation    Detail = 306 // the reference is the ask

	QueueDynamic Detail = 401 // the queue is a dynamic queue

	AllocationCancelled Detail = 500
	AllocationPreempted Detail = 501
	AllocationTimedOut  Detail = 502
	AllocationReplaced  Detail = 503
)

// MaxMessage is the length of the longest message, in bytes (OBS-30).
const MaxMessage = 1024

// Message shortens a text to MaxMessage: the end of a longer one is replaced by dots.
func Message(text string) string {
	const dots = "..."
	if len(text) <= MaxMessage {
		return text
	}
	end := MaxMessage - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}
