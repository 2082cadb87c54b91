// Package engine is the running scheduler: the partitions (package loop), the configuration in force
// and its history (package reload), and the user directories, which come into force with it. Everything
// that changes the configuration (a file, REST, a resource manager, a program that embeds the scheduler)
// uses the Reloader of the engine; everything that reads or drives partitions uses its Cluster.
//
// The engine does not know how commands come and where effects go: package rmproxy connects the resource
// manager. Listeners, files and signals are with its callers.
//
// Invariant: a configuration and the user directories of its partitions come into force together or not
// at all.
package engine
