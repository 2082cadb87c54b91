// Package demo runs simulated clusters to look at. Run and RunPreemption drive a scheduler of this process in
// virtual time, for `canopy demo`: what they report follows from the workload alone, on every machine.
// RunLiveDemo is a resource manager that keeps the cluster of a server busy in real time, for
// `canopy serve --demo`. Nodes and tasks exist only as numbers.
package demo
