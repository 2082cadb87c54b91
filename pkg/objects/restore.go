package objects

import "github.com/canopy-scheduler/canopy/pkg/lifecycle"

// A Partition can be written and read as what is reachable from it (package objectgraph). Functions are not: those of
// package-level variables are found again by their place there, and Reattach sets the others. Nor is the seed of
// hashes, which is of one process.

// Variables are pointers to the package-level variables that objects of a Partition point to.
func Variables() []any {
	return []any{&queueOrders, &applicationOrders, &startingOrders, &askGroupOrder, &nodeOrder, &noAppExtra, &noNodeExtra}
}

// Held has a value of each type of this package that an interface in a Partition may have.
func Held() []any { return []any{deadlineSince{}, (*lifecycle.Ended)(nil), (*Application)(nil)} }

// Reattach completes a Partition that was read: it sets the functions, and finds keys by the hashes of this process.
func Reattach(p *Partition) {
	p.allocations.reseed()
	p.lists.setIndexes()
	p.names.OnFreed(p.forgetResource)
	p.deadlines.completed.Reattach()
	p.deadlines.rejected.Reattach()
}
