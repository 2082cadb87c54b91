// Package usergroup resolves the groups of users of applications that are submitted without groups, from the
// operating system or from LDAP (ACL-18, ACL-28 to ACL-44). A partition has one Resolver. It caches results, runs
// one lookup per user however many applications wait for it, and ends a lookup after a time-out.
//
// Package rmproxy resolves users before an application reaches the core. Answers and user names are data: a name
// is never a part of a command or a filter.
//
// The invariant: each Resolve gets one result within the time-out, whatever lookups of other users do.
package usergroup
