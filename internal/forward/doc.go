// Package forward passes requests on to the member of a group that leads the partition which they name: calls of gRPC, REST, pages and
// streams of events.
//
// It owns how the partition of a request is found, what is changed on the way, what a client gets when the member that leads cannot
// answer, and the connections to other members and to servers of the same process. It leaves which member leads a partition to Routes,
// and credentials to that member: they are passed on. Two things are the caller's: the handler of HTTP is to be behind
// httpserver.CheckHost, because the member that leads sees a name of its own as Host; and certificates of clients end here.
//
// gRPC is HTTP/2, so one reverse proxy passes on all: messages are neither decoded nor collected.
//
// Invariant: an answer that has ended for a client as complete was complete. What is lost on the way ends as UNAVAILABLE with gRPC,
// and as an aborted body with HTTP.
package forward
