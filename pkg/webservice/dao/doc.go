// Package dao has the bodies of the REST interface as Go types, with the functions that fill them from views of the
// scheduler and of the configuration. Clients written in Go decode answers into these types.
//
// Explanations, preemptions and dry runs are not described again: REST writes the values of packages scheduler,
// preemption and explain, whose tags have its names. Reasons that these keep as numbers are written as texts, and are
// not read back.
//
// What is served where, how lists are kept and compressed, and the text of allocations, events and usage, of which an
// answer may have thousands, is left to package webservice. Bodies that only one handler has are there, too.
//
// Times are nanoseconds since 1970 unless said otherwise, and left out if they are not known. Quantities are in the
// smallest unit: thousandths of vcore, bytes of memory (OBS-17). The rule that must hold: a body is made from one
// immutable view, so it shows one moment.
package dao
