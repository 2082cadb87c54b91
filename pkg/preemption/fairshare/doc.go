// Package fairshare computes the fair shares of what is directly below a queue: the children of a parent, or the
// applications or users of a leaf (PRE-126 to PRE-129).
//
// Shares owns the sides of each queue, what they can use, and their shares, of the present moment. It computes them
// when they are asked for and forgets them with the changes that matter. Who may preempt whom by them is left to the
// packages preemption and victim. The invariant: the shares in a queue depend on quotas, weights, what sides could
// use and what is held outside of the queue, so a preemption in it does not move the shares that it is for (PRE-130).
package fairshare
