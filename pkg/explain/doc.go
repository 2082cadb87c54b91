// Package explain says what keeps a pending ask from being placed: every gate on its way, open or closed, with figures;
// for each closed gate the smallest changes that open it; the largest request that could be placed now; and the rank of
// the ask in selection order, with what comes before it and why.
//
// A gate is a condition of its own, so explain also finds what blocks an ask behind the first obstacle. A change says
// what an operator or a resource manager can do. The package changes nothing, keeps nothing and decides nothing: it
// reads the state when it is asked (package scheduler does so for explanations).
//
// The rule that must hold: an ask is placed when its turn comes if and only if none of its gates is closed, and each
// change opens the gate that names it, while a smaller one does not (EXP-1, EXP-4).
package explain
