// Package events is history as values: lines that say what happened to what, and a ring
// that keeps the last ones.
//
// It owns the numbers of the event interface (behaviour.md 11.1). What is worth a line, and
// when it happened, is for whoever writes them; who may read them, and over what, is for
// others too.
//
// The rule that must hold: a Record never changes, and its ID never comes twice.
package events

import (
	"time"
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Record is a line of history.
type Record struct {
	Type      Type
	Object    string // the ID of what it is about: of that type
	Reference string // the ID of what else it is about; may be empty
	Change    Change
	Detail    Detail
	Rejected  bool   // an ask or an allocation was not taken in; readers of the interface are not told
	Message   string // for people; at most MaxMessage bytes
	Amounts   resources.Amounts
	Partition string
	At        time.Time
}

// Type says what kind of object a Record is about.
type Type uint8

// The types. The numbers are those of the interface.
const (
	Request     Type = 1 // an ask, or an allocation
	Application Type = 2
	Node        Type = 3
	Queue       Type = 4
)

// Change says what became of the object.
type Change uint8

// The changes. The numbers are those of the interface.
const (
	NoChange Change = iota // there is something to say, and that is all
	Set                    // it is another
	Add                    // it came, or got the reference
	Remove                 // it went, or lost the reference
)

// Detail says it more exactly. The numbers are those of the interface.
type Detail uint16

// The details that are in use.
const (
	NoDetail Detail = 0

	RequestCancelled Detail = 100 // the reference is the ask

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

	QueueDynamic Detail = 401 // it is not of the configuration

	AllocationCancelled Detail = 500
	AllocationPreempted Detail = 501
	AllocationTimedOut  Detail = 502
	AllocationReplaced  Detail = 503
)

// MaxMessage is how many bytes a message has at most.
const MaxMessage = 1024

// Message is a text as a Record may have it: if it is too long its end is dots.
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
