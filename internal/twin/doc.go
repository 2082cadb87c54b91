// Package twin is the scheduler told a second time, naively. The Twin keeps plain
// lists and adds everything up again for every question; for each decision it sorts
// the whole tree and looks at every node. It takes the same commands as the Core and
// must answer with the same effects.
//
// It was written from the documents, shares no data structure with package objects,
// and computes and compares every key itself; only the named quantities of package
// resources, which have laws of their own, are common ground. Stories are random
// conversations in which the two must agree after every step.
//
// The rule that must hold: nothing here is remembered that could be counted.
package twin
