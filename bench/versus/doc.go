// Command versus runs the same stream of requests through yunikorn-core and through Canopy and
// compares what a placement costs in each.
//
// Both are linked as libraries and driven through the interface they share,
// api.SchedulerAPI, by the same shim. Of yunikorn-core only the published API is used.
// Every measurement is a fresh process: the program starts itself anew for one workload
// in one arm and reads one line of JSON back. Arms take turns (ABBA), so that a slow
// minute of the machine hits both.
//
// The one rule that must hold: between the arms nothing differs but the scheduler. The
// stream, its digest, the shim and the clock that measures are the same code.
package main
