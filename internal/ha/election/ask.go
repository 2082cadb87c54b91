package election

import (
	"slices"
	"time"
)

// ask appends a request for anything but Watch and Revoke.
func (c *Candidate) ask(to []Request, now Instant, op Op) []Request {
	r := Request{Op: op, Timeout: c.ttl / timeoutShare}
	switch op {
	case Grant:
		r.TTL = c.ttl
	case Create:
		r.Lease, r.Leader = c.lease, c.self
	case Renew:
		r.Lease = c.lease
	}
	return c.send(to, now, r)
}

// askWatch appends a watch of the leader's key for what happens after a revision. After a time to live it is made anew:
// a connection may have died without a sign of it.
func (c *Candidate) askWatch(to []Request, now Instant, revision int64) []Request {
	return c.send(to, now, Request{Op: Watch, Revision: revision, Timeout: c.ttl})
}

// maxRevoke bounds the time of a call that ends a lease: a process that ends waits for it.
const maxRevoke = 2 * time.Second

// revoke appends the end of the lease, if there is one. Its answer is not waited for: if it is lost, the lease ends by
// itself.
func (c *Candidate) revoke(to []Request) []Request {
	if c.lease == 0 {
		return to
	}
	c.lastID++
	to = append(to, Request{ID: c.lastID, Op: Revoke, Lease: c.lease, Timeout: min(c.ttl/timeoutShare, maxRevoke)})
	c.lease = 0
	return to
}

// send appends a request that is waited for.
func (c *Candidate) send(to []Request, now Instant, r Request) []Request {
	c.lastID++
	r.ID, r.sent = c.lastID, now
	c.waiting[r.Op] = r
	return append(to, r)
}

// readLater has the leader's key read a little later.
func (c *Candidate) readLater(now Instant) []Request {
	c.next = now.Add(c.ttl / retryShare)
	return nil
}

// under reports whether a call of one of the kinds is under way.
func (c *Candidate) under(ops ...Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool { _, ok := c.waiting[op]; return ok })
}

// Waits reports whether the answer to a request is still waited for.
func (c *Candidate) Waits(id uint64) bool {
	_, ok := c.requestOf(id)
	return ok
}

// requestOf is the request under way with an ID.
func (c *Candidate) requestOf(id uint64) (Request, bool) {
	for _, r := range c.waiting {
		if r.ID == id {
			return r, true
		}
	}
	return Request{}, false
}
