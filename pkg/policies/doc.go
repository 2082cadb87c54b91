// Package policies names the ways work can be ordered, and orders it.
//
// A policy compares small keys, never live objects: the caller says what it knows
// about a queue in a QueueKey and learns who goes first. Who keeps the keys up to
// date, and when they are compared, is for package objects.
//
// The rule that must hold: every comparison is a total order that ends in a name or
// in the order of arrival, so no two different things ever tie.
package policies
