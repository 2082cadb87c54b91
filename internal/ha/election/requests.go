package election

import (
	"errors"
	"time"
)

// Leader is the content of the leader's key.
type Leader struct {
	Name string `json:"name"` // of the member
	GRPC string `json:"grpc"` // HOST:PORT at which its gRPC server can be reached; may be empty
	HTTP string `json:"http"` // the URL of its REST without a path, such as http://10.0.0.1:9080; may be empty
}

// LeaseID names a lease in the store. Zero: none.
type LeaseID int64

// Op is an operation that a Candidate wants from the store.
type Op int

// The operations, with the fields of Request that they need and those of Answer that they fill.
const (
	Read   Op = iota // the leader's key: Found, Leader, Epoch, Revision
	Watch            // for a change of the leader's key after Revision: an answer without an error is a change
	Grant            // a lease with the time to live TTL: Lease, TTL
	Create           // the leader's key with Leader and Lease, if there is none: Found is that there was one, else Epoch
	Renew            // Lease: TTL. ErrLeaseLost: it has ended
	Revoke           // Lease, and with it the key
)

// ErrLeaseLost is the error of Renew for a lease that has ended.
var ErrLeaseLost = errors.New("the lease has ended")

// Request is a call of the store.
type Request struct {
	ID       uint64 // of the Answer, too
	Op       Op
	Lease    LeaseID
	TTL      time.Duration
	Leader   Leader
	Revision int64
	Timeout  time.Duration // after it the answer is an error

	sent Instant // when the Candidate has made it; the store gets it later
}

// Answer is the result of a Request. A request that has failed or taken too long may have been carried out, or may yet
// be.
type Answer struct {
	ID       uint64
	Err      error
	Lease    LeaseID
	TTL      time.Duration // as granted, which may be longer than was asked for
	Found    bool
	Leader   Leader
	Epoch    int64 // the create revision of the key
	Revision int64 // of the store when it was read
}
