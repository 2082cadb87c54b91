// Package usergroup finds out which groups a user has, for applications that come
// without: from the operating system or from LDAP (behaviour.md 9.4). A Directory is the
// one of a partition. It remembers answers, asks about a user once however many want to
// know, and gives up after a time.
//
// Who an application belongs to is decided by the door that asks; the core never comes
// here. What a source says is data: names are never parts of a command or a filter.
//
// The rule that must hold: whoever asks gets one answer, in bounded time, and waits for
// nobody who asks about somebody else.
package usergroup
