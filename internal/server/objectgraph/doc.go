// Package objectgraph owns the writing of everything that is reachable from a pointer as bytes, and the reading of
// these bytes into objects that are connected as the ones were: pointers into other objects, slices that share memory,
// maps, cycles.
//
// It leaves to others what is reachable. Nothing is written by hand for a type: a Schema is the list of the types that
// the type of the root leads to, and a field that is added is written from then on. So a graph is read only by a
// program in which these types are the same (Schema.Digest).
//
// The rule that must hold: what is read behaves as what was written, or Encode returns an error that names the field.
// Three things are not written, and a caller decides about each: a field with the tag `objectgraph:"-"` is zero when it
// is read; a function is one that a package-level variable has, or else a Hole that the caller fills; an interface has
// one of the values that the caller names, or of the types that the caller lists.
package objectgraph
