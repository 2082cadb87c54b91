package auth

import "sync/atomic"

// Reason says why a request or a call was refused.
type Reason uint8

// The reasons.
const (
	Missing     Reason = iota // there are no credentials
	Malformed                 // the header is malformed
	Unknown                   // the token or the certificate is in no entry
	RoleMissing               // the identity does not have the role
	WrongRM                   // the identity is bound to another resource manager
	reasons
)

func (r Reason) String() string {
	return [...]string{"missing", "malformed", "unknown", "role", "rm"}[r]
}

// Counts count refusals by reason. They are safe for concurrent use.
type Counts struct{ refused [reasons]atomic.Uint64 }

// Note counts a refusal.
func (c *Counts) Note(r Reason) { c.refused[r].Add(1) }

// Refused returns the refusals since the start by the names of their reasons, those without one included. nil has none.
func (c *Counts) Refused() map[string]uint64 {
	if c == nil {
		return nil
	}
	out := map[string]uint64{}
	for r := range reasons {
		out[r.String()] = c.refused[r].Load()
	}
	return out
}
