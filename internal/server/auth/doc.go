// Package auth finds the identity of a client of the servers, and says what it may do (SEC-1 to SEC-15).
//
// A client is known by a token, or by a certificate that the authority of the clients has signed. The file of
// credentials gives each a name, a role and, optionally, the one resource manager as which it may register. The
// package reads such files, checks requests and calls, and keeps the key pair of the listeners. It opens no port
// and watches no file: its user hands it new contents.
//
// Invariant: a content that is refused changes nothing; what was in force stays.
package auth
