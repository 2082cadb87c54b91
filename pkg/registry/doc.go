// Package registry has the registry of named objects that the configuration and REST keep: priority classes,
// disruption budgets, and what follows. A type of objects has a key, a check of each object by itself and a Kind, its
// description; the registry has the rest: order, lookup, the rules of create, update and delete, and their errors.
// What the objects mean is for the package of the type; package configs reads and writes their lists in documents,
// package webservice serves them.
//
// The invariant: the objects of every Registry are valid, no two have the same key, at most one is the default, and
// the system objects of its kind exist. A Registry never changes.
package registry
