// Package types has the kinds of placement rules as queues.yaml names them.
//
// The package owns the names, and leaves what the rules do to the scheduler.
//
// Invariant: each name is one that a configuration may use.
package types

// The kinds of placement rules.
const (
	Fixed    = "fixed"    // the queue that the rule names
	Provided = "provided" // the queue that the application names
	User     = "user"     // a queue for each user
	Tag      = "tag"      // a queue for each value of a tag, such as the namespace
)
