// Package gangs keeps the state of the gang of one application: its style, its placeholder timeout, what it has
// requested, and how many placeholders each of its task groups has had and how they have ended (GAN-1 to GAN-12).
//
// It knows no allocation, node, queue, partition or clock. Package objects says which placeholders there are, binds and
// releases them, and holds real asks back; package scheduler decides which real ask replaces which placeholder.
//
// The invariant: a task group has never had more ends of placeholders than placeholders, and a gang counts as live the
// placeholders that have not ended.
package gangs
