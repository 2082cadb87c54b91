package spread

import (
	"context"
	"errors"
)

// Errors of a Store, besides those of a context and of what it is made of.
var (
	// ErrNotCoordinator: the epoch is not that of the coordinator. Nothing was written.
	ErrNotCoordinator = errors.New("another coordinator was elected")
	// ErrStale: the assignment does not follow the one that is stored. Nothing was written; the coordinator reads again.
	ErrStale = errors.New("the assignment was computed from another one than is stored")
	// ErrNoProposal: there is no proposal with the number, or no longer.
	ErrNoProposal = errors.New("there is another proposal, or none")
	// ErrNameTaken: another process is known by the name, until its time to live is over. The error names it.
	ErrNameTaken = errors.New("another process of the group has the same name")
)

// Store is what the members of a group share. Each process has one of its own. It is safe for concurrent use.
type Store interface {
	// Next waits until something is newer than the state of revision after (0: returns at once), and returns all of it. It
	// may return a state in which nothing has changed.
	Next(ctx context.Context, after int64) (State, error)
	// Announce makes a member known for as long as it is called again within the time to live; each call replaces what was
	// announced. The name stays the same until Withdraw. Each change of the loads wakes all that wait in Next, so the caller rounds them.
	Announce(ctx context.Context, m Member) error
	// Withdraw makes it unknown at once.
	Withdraw(ctx context.Context) error
	// Assign writes an assignment, only while epoch is that of the coordinator (ErrNotCoordinator), and only if its Round follows
	// the one that is stored (ErrStale). One that is stored already is no error, so a call that was not answered is made again.
	Assign(ctx context.Context, epoch int64, a Assignment) error
	// Propose asks all members to check a configuration, in place of the one that was proposed before, only while epoch is that of the
	// coordinator (ErrNotCoordinator). Numbers rise, also from one coordinator to the next, and a State of a revision from the number
	// on shows the proposal. Without a text there is none any more, and the number is without a meaning.
	Propose(ctx context.Context, epoch int64, text []byte) (number int64, err error)
	// Proposed is the text of a proposal. ErrNoProposal: another one has taken its place.
	Proposed(ctx context.Context, number int64) (text []byte, err error)
}
